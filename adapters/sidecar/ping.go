package sidecar

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	maxPing     = 64 << 10 // bytes of a form
	maxPingURLs = 1000
	pingTime    = 10 * time.Second
)

// Ping returns a handler through which plug-ins and cron jobs report changes of the
// site:
//
//	curl -H 'Authorization: Bearer TOKEN' -d url=https://example.org/a https://example.org/resourcesync/ping
//
// It calls changed with the URLs of the form, at most 1,000. Without a URL, any resource
// may have changed. changed must not block. The response is 202, 401 without the token,
// and 400 or 413 for an invalid form.
//
// Ping panics if token is empty.
func Ping(token string, changed func(urls ...*url.URL)) http.Handler {
	if token == "" {
		panic("sidecar: Ping needs a token")
	}
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
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="resourcesync"`)
			http.Error(w, "Send the token: Authorization: Bearer TOKEN.", http.StatusUnauthorized)
			return
		}
		body, err := reqbody.Read(w, r, maxPing, pingTime)
		if err != nil {
			http.Error(w, "Send a form of at most 64 KiB: url=…&url=….", http.StatusRequestEntityTooLarge)
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			http.Error(w, "Send a form: url=…&url=….", http.StatusBadRequest)
			return
		}
		var urls []*url.URL
		for _, text := range form["url"] {
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || len(urls) == maxPingURLs {
				http.Error(w, "Send at most 1,000 absolute URLs.", http.StatusBadRequest)
				return
			}
			urls = append(urls, u)
		}
		changed(urls...)
		w.WriteHeader(http.StatusAccepted)
	})
}
