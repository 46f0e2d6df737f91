// Package ping receives reports about changes: POST requests with a token.
package ping

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	maxBody  = 64 << 10
	bodyTime = 10 * time.Second
)

// A Refusal is the answer to a report that cannot be read.
type Refusal struct {
	Status  int
	Message string
}

// Handler returns a handler that passes the bodies of POST requests to read. They have the
// token as a Bearer token or as the password of Basic authentication. The response is 202,
// 401 without the token, and otherwise the Refusal that read returns. read must not block.
// tooLarge is the text of the response to a body of more than 64 KiB. The token must not be
// empty.
func Handler(token, tooLarge string, read func(header http.Header, body []byte) *Refusal) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodPost {
			if reqbody.None(w, r) {
				w.Header().Set("Allow", "POST")
				http.Error(w, "Only POST is allowed here.", http.StatusMethodNotAllowed)
			}
			return
		}
		got := sha256.Sum256([]byte(given(r)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="resourcesync"`)
			http.Error(w, "Send the token: Authorization: Bearer TOKEN.", http.StatusUnauthorized)
			return
		}
		body, err := reqbody.Read(w, r, maxBody, bodyTime)
		if err != nil {
			http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
			return
		}
		if refusal := read(r.Header, body); refusal != nil {
			http.Error(w, refusal.Message, refusal.Status)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

// given returns the token of a request, or "".
func given(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
