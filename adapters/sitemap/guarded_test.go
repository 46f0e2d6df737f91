package sitemap_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

// TestWithdrawalsAreGuarded has pages that leave the lists because of the program and not of the
// website: a new version has other rules, or a setting changes. They leave the lists at once. Many
// deletions are held, and never published if the pages come back; a few deletions are published.
func TestWithdrawalsAreGuarded(t *testing.T) {
	const pages = 20
	long := `<html><head><style>` + strings.Repeat("a{}\n", 1_100_000) + `</style></head><body>`
	for name, tt := range map[string]struct {
		reason string
		page   http.HandlerFunc // one that is withdrawn
		after  sitemap.Options
	}{
		// An earlier version read less of the head. The website would answer 304.
		"upgrade":       {"head longer than 4 MiB", page(long, `Etag: "1"`), sitemap.Options{}},
		"Cache-Control": {"Cache-Control", page("a", `Etag: "1"`, "Cache-Control: private"), sitemap.Options{RespectCacheControl: true}},
	} {
		for _, withdrawn := range []int{1, 6} {
			t.Run(fmt.Sprint(name, "/", withdrawn), func(t *testing.T) {
				t.Parallel()
				options := tt.after
				options.Sitemaps = []string{"/s.xml"}
				h := newHarness(t, options)
				var all []string
				var former []resourcesync.Resource
				for i := range pages {
					path := fmt.Sprintf("/%02d", i)
					all = append(all, path)
					former = append(former, resourcesync.Resource{Key: path, URI: base + path[1:], Stamp: `{"e":"\"1\"","h":true}`})
					if h.serve(path, page("a", `Etag: "1"`)); i < withdrawn {
						h.serve(path, tt.page)
					}
				}
				h.serve("/s.xml", page(urlset(all...)))
				if err := h.set.Put(t.Context(), former...); err != nil {
					t.Fatal(err)
				}
				h.mustScan(t, all[withdrawn:]...)
				published, held := withdrawn, int64(0)
				if withdrawn > 1 {
					published, held = 0, int64(withdrawn)
				}
				if kept, err := h.set.Kept(t.Context()); err != nil || h.deletions(t) != published || kept.Held != held {
					t.Errorf("%d deletions are published and %d held, want %d and %d; %v", h.deletions(t), kept.Held, published, held, err)
				}
				if got := h.site.Status().Withheld[tt.reason]; got != withdrawn {
					t.Errorf("the status is %+v", h.site.Status())
				}

				for _, path := range all {
					h.serve(path, page("a", `Etag: "2"`))
				}
				h.serve("/s.xml", page(urlset(strings.Split(strings.Join(all, " 2026-01-01|")+" 2026-01-01", "|")...)))
				h.mustScan(t, all...)
				if n := h.deletions(t); n != published {
					t.Errorf("%d deletions are published after the pages have come back, want %d", n, published)
				}
			})
		}
	}
}
