package sidecar_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestLinkTransport: a scanner sees the page that a visitor of the wrapped website
// receives, with the validators of the upstream.
func TestLinkTransport(t *testing.T) {
	src := newSource(t)
	for _, tt := range pages {
		t.Run(tt.name, func(t *testing.T) {
			page := strings.ReplaceAll(tt.page, "^", "")
			for _, trailer := range []string{"", "Repr-Digest", "X-Time"} {
				for _, zipped := range []bool{false, true} {
					checkLinkTransport(t, src, tt.contentType, page, trailer, zipped)
				}
			}
		})
	}
}

func checkLinkTransport(t *testing.T, src *rshttp.Source, contentType, page, trailer string, zipped bool) {
	t.Helper()
	body := page
	if zipped {
		body = string(compress(t, []byte(page)))
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.Header().Set("Etag", `"v1"`)
		if trailer != "" {
			w.Header().Set("Trailer", trailer)
		}
		if zipped {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = io.WriteString(w, body)
	}))
	defer upstream.Close()
	visited := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "https://example.org/page", nil)
	linkingSite(t, src, upstream.URL, nil).ServeHTTP(visited, r)
	want := content(t, visited.Result())

	transport := sidecar.NewTransport(upstream.URL, "https://example.org/")
	defer transport.CloseIdleConnections()
	scan, err := http.NewRequestWithContext(t.Context(), "GET", upstream.URL+"/page", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := sidecar.LinkTransport(transport, "https://example.org/resourcesync/capabilitylist.xml").RoundTrip(scan)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := content(t, res); got != want {
		t.Errorf("trailer %q, gzip %v: got\n%.300q\nwant\n%.300q", trailer, zipped, got, want)
	}
	if got := res.Header.Get("Etag"); got != `"v1"` {
		t.Errorf("entity tag %s", got)
	}
	if res.ContentLength >= 0 && !zipped && res.ContentLength != int64(len(want)) {
		t.Errorf("length %d, want %d", res.ContentLength, len(want))
	}
}
