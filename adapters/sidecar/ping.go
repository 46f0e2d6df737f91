package sidecar

import (
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync/internal/ping"
)

const maxPingURLs = 1000

// Ping returns a handler through which plug-ins and cron jobs report changes of the
// site:
//
//	curl -H 'Authorization: Bearer TOKEN' -d url=https://example.org/a https://example.org/resourcesync/ping
//
// It calls changed with the URLs of the form, at most 1,000. Without a URL, any resource
// may have changed. changed must not block. The token may also be the password of Basic
// authentication. The response is 202, 401 without the token, and 400 or 413 for an
// invalid form.
//
// Ping panics if token is empty.
func Ping(token string, changed func(urls ...*url.URL)) http.Handler {
	if token == "" {
		panic("sidecar: Ping needs a token")
	}
	return ping.Handler(token, "Send a form of at most 64 KiB: url=…&url=….", func(_ http.Header, body []byte) *ping.Refusal {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return &ping.Refusal{Status: http.StatusBadRequest, Message: "Send a form: url=…&url=…."}
		}
		var urls []*url.URL
		for _, text := range form["url"] {
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || len(urls) == maxPingURLs {
				return &ping.Refusal{Status: http.StatusBadRequest, Message: "Send at most 1,000 absolute URLs."}
			}
			urls = append(urls, u)
		}
		changed(urls...)
		return nil
	})
}
