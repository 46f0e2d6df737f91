package rshttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// discard is a ResponseWriter that keeps nothing but its header.
type discard http.Header

func (d discard) Header() http.Header         { return http.Header(d) }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkSmall measures the handler alone for a small cached document, without the
// server and the network, against a handler that sets the same header fields.
func BenchmarkSmall(b *testing.B) {
	src := newSource(b, nil, rshttp.Set{Provider: numbers(10_000)})
	const path = "/resourcesync/capabilitylist.xml"
	res := get(b, src, path, "Accept-Encoding", "gzip")
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, values := range res.Header {
			h[name] = values
		}
		w.WriteHeader(http.StatusOK)
		w.Write(nil)
	})
	for _, bench := range []struct {
		name, match string
		handler     http.Handler
	}{
		{"bare", "", bare},
		{"200", "", src},
		{"304", res.Header.Get("Etag"), src},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			w, r := discard{}, httptest.NewRequest("GET", path, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			if bench.match != "" {
				r.Header.Set("If-None-Match", bench.match)
			}
			for b.Loop() {
				clear(w)
				bench.handler.ServeHTTP(w, r)
			}
		})
	}
}
