package sqlstore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// BenchmarkChangedPage renders a list of 50,000 resources after a change of one of them:
// ours with the earlier list in the cache, theirs without. Recording the change does not
// count.
func BenchmarkChangedPage(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		const n = 50_000
		_, set := filled(b, e, n)
		source := func(cache int64) *rshttp.Source {
			s, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Division: rshttp.Division{PageSize: n}, Limits: rshttp.Limits{CacheBytes: cache}})
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
		cached, uncached := source(0), source(-1)
		request := httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil)
		request.Header.Set("Accept-Encoding", "gzip")
		changes := 0
		change := func() {
			changes++
			r := article(changes * 7919 % n)
			r.Type = fmt.Sprintf("text/html;v=%d", changes)
			if err := set.Put(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
		list := func(s *rshttp.Source) func() {
			return func() {
				var w discard
				s.ServeHTTP(&w, request)
				if w.status != http.StatusOK || w.bytes < n {
					b.Fatal(w.status, w.bytes)
				}
			}
		}
		list(cached)()
		compareAfter(b, change, list(cached), list(uncached))
	})
}
