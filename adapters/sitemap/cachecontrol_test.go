package sitemap_test

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

// TestCacheControl counts pages that only a private cache may store, and leaves them out on request.
func TestCacheControl(t *testing.T) {
	for value, uncacheable := range map[string]bool{
		"private": true, "max-age=0, No-Store": true, "private, max-age=60": true,
		"public": false, "max-age=60": false, "no-cache": false, `private="set-cookie"`: false, "x-private": false,
	} {
		t.Run(value, func(t *testing.T) {
			for _, respect := range []bool{false, true} {
				h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, RespectCacheControl: respect})
				h.serve("/s.xml", page(urlset("/a 2026-01-01", "/b 2026-01-01")))
				h.serve("/a", page("a", "Cache-Control: "+value, `Etag: "1"`))
				h.serve("/b", page("b"))
				want, counted := []string{"/a", "/b"}, 0
				switch {
				case uncacheable && respect:
					want = []string{"/b"}
				case uncacheable:
					counted = 1
				}
				for range 2 { // the second scan requests neither
					h.mustScan(t, want...)
					if got := h.site.Status(); got.Uncacheable != counted || got.Withheld["Cache-Control"] != 2-len(want) {
						t.Errorf("respect %t: %+v", respect, got)
					}
				}

				// Another setting also applies to pages that have not changed.
				h.site = h.another(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, RespectCacheControl: !respect})
				if want = []string{"/a", "/b"}; uncacheable && !respect {
					want = want[1:]
				}
				h.mustScan(t, want...)
			}
		})
	}
}
