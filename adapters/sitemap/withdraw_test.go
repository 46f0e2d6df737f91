package sitemap_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// deletions returns the number of deletions in the journal.
func (h *harness) deletions(t testing.TB) (n int) {
	t.Helper()
	for c, err := range h.set.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Type == resourcesync.Deleted {
			n++
		}
	}
	return n
}

// TestMisfire: if many pages suddenly require a login, they leave the list at once.
// Their deletions are held, and never published if they come back.
func TestMisfire(t *testing.T) {
	const pages, private = 100, 60
	var all []string
	for i := range pages {
		all = append(all, fmt.Sprintf("/%03d", i))
	}
	for name, tt := range map[string]struct {
		revisit   float64
		published int // few are
	}{
		"scan":     {-1, 0},
		"revisits": {5000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: tt.revisit})
			serve := func(lastmod string, private http.HandlerFunc, paths ...string) {
				if tt.revisit > 0 {
					lastmod = "2026-01-01"
				}
				h.serve("/s.xml", page(urlset(strings.Split(strings.Join(all, " "+lastmod+"|")+" "+lastmod, "|")...)))
				for i, path := range all {
					h.serve(path, page(path))
					if i < len(paths) {
						h.serve(path, private)
					}
				}
			}
			serve("2026-01-01", nil)
			h.mustScan(t, all...)

			serve("2026-01-02", status(401), all[:private]...)
			if tt.revisit > 0 {
				go h.site.Run(t.Context())
				h.eventually(t, all[private:]...)
			}
			result, err := h.set.Scan(t.Context(), h.site.Resources(t.Context()))
			if err != nil || result.Held != private-tt.published || !slices.Equal(h.listed(t), all[private:]) {
				t.Fatalf("%+v, %v, listed %q", result, err, h.listed(t))
			}
			if n := h.deletions(t); n != tt.published {
				t.Errorf("%d deletions are published", n)
			}

			serve("2026-01-03", nil)
			if tt.revisit > 0 {
				h.eventually(t, all...)
			}
			h.mustScan(t, all...)
			if n := h.deletions(t); n != tt.published {
				t.Errorf("%d deletions are published", n)
			}
			if kept, err := h.set.Kept(t.Context()); err != nil || kept.Held != 0 {
				t.Errorf("%+v, %v", kept, err)
			}
		})
	}
}

// TestOnePrivatePage: the deletion of a single page is published at once, without a
// scan.
func TestOnePrivatePage(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: 5000})
	h.serve("/s.xml", page(urlset("/a", "/b", "/c")))
	for _, path := range []string{"/a", "/b", "/c"} {
		h.serve(path, page(path))
	}
	h.mustScan(t, "/a", "/b", "/c")
	go h.site.Run(t.Context())
	h.serve("/b", status(403))
	h.eventually(t, "/a", "/c")
	for deadline := time.Now().Add(needs.Patience); h.deletions(t) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d deletions", h.deletions(t))
		}
	}
}
