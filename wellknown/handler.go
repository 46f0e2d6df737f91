package wellknown

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// Handler serves document, one of the results of [Description], at whatever
// path it is mounted:
//
//	mux.Handle(wellknown.Path, wellknown.Handler(document))
//
// It answers GET and HEAD, conditional and Range requests included, and any
// other method with 405. document must not be changed afterwards.
func Handler(document []byte) http.Handler {
	tag := entityTag(document)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !reqbody.None(w, r) {
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		serve(w, r, tag, document)
	})
}

// serve answers r with body, whose entity tag is tag. The Content-Type is set
// already. There is no Last-Modified: bytes alone do not know their age, and an
// entity tag is the better validator.
func serve(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// entityTag returns an entity tag of body. It is a weak one, so that middleware
// of the host that compresses may keep it.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}
