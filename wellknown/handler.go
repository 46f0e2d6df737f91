package wellknown

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// Handler serves document, a result of [Description], at any path:
//
//	mux.Handle(wellknown.Path, wellknown.Handler(document))
//
// It answers GET and HEAD, including conditional and Range requests, and answers 405
// to other methods. The caller must not modify document afterwards.
func Handler(document []byte) http.Handler {
	tag := entityTag(document)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reqbody.Get(w, r) {
			w.Header().Set("Content-Type", "application/xml")
			serve(w, r, tag, document)
		}
	})
}

// serve answers r with body, whose entity tag is tag. The caller has set the
// Content-Type. There is no Last-Modified, because the age of body is unknown.
func serve(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// entityTag returns an entity tag of body. It is weak, so that the host's compressing
// middleware may keep it.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}
