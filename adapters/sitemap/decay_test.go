package sitemap_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

// inProcess answers requests without a network.
type inProcess struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestRefusalsDecay has a website that refuses strangers one page after another. If that takes
// days, each page counts as having become private. Within an hour, the website counts as
// distrusting the headers.
func TestRefusalsDecay(t *testing.T) {
	const pages, most = 20, 2
	for name, tt := range map[string]struct {
		every  time.Duration
		hidden bool
	}{
		"a day":       {24 * time.Hour, false},
		"an hour":     {time.Hour, false},
		"ten minutes": {10 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := &website{pages: map[string]http.HandlerFunc{}}
				h := newHarnessOf(t, site, sitemap.Options{
					Sitemaps: []string{"/s.xml"}, Revisit: -1, Transport: inProcess{site}, MaxRefuse: 0.15,
				})
				var refused atomic.Int64
				var all []string
				for i := range pages {
					path := fmt.Sprintf("/%02d", i)
					all = append(all, path)
					h.serve(path, func(w http.ResponseWriter, r *http.Request) {
						if r.Header.Get("X-Forwarded-For") != "" && int64(i) < refused.Load() {
							w.WriteHeader(http.StatusForbidden)
							return
						}
						fmt.Fprint(w, path)
					})
				}
				publish := func() {
					var entries []string
					for _, path := range all {
						entries = append(entries, path+" "+time.Now().Add(-time.Minute).Format(time.RFC3339))
					}
					h.serve("/s.xml", page(urlset(entries...)))
				}
				publish()
				h.mustScan(t, all...)
				for n := 1; n <= 2*most; n++ {
					time.Sleep(tt.every)
					refused.Store(int64(n))
					publish()
					_, err := h.scan(t)
					if hidden := tt.hidden && n > most; (h.site.Hidden() != nil) != hidden || (err != nil) != hidden {
						t.Fatalf("%d pages are refused: %v, hidden: %v", n, err, h.site.Hidden())
					}
				}
				if got := h.site.Status().Refused; !tt.hidden && got != 2*most {
					t.Errorf("the status has %d refused pages", got)
				}
			})
		})
	}
}
