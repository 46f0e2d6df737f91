package sitemap_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestHints: after a hint, listed pages are checked and a scan is requested. New pages
// are found, but clients cannot list pages that no sitemap names.
func TestHints(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Recent: []string{"/recent.json"}, Revisit: -1})
	h.serve("/s.xml", page(urlset("/a", "/b")))
	for _, path := range []string{"/a", "/b", "/c", "/secret"} {
		h.serve(path, page(path))
	}
	h.mustScan(t, "/a", "/b")
	scans := make(chan struct{}, 100)
	go h.site.Run(t.Context())
	go h.site.Watch(t.Context(), func([]string) { scans <- struct{}{} })
	h.serve("/a", status(404))
	h.serve("/recent.json", page(`[{"link":"https://example.org/c","modified_gmt":"2026-01-01T00:00:00"},{"link":"https://other.example/d"}]`))
	u := func(path string) *url.URL { u, _ := url.Parse("https://example.org" + path); return u }
	h.site.Changed(u("/a"), u("/secret"))
	h.eventually(t, "/b", "/c")
	<-scans
	for range 200 {
		h.site.Changed(u("/b"))
		time.Sleep(time.Millisecond) //nolint: a stranger who posts all the time
	}
	if n := len(scans); n > 12 {
		t.Errorf("%d scans", n)
	}
}

// TestRevisit: pages are visited in turn, including withheld ones, and visits continue
// after a restart.
func TestRevisit(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: 500})
	h.serve("/s.xml", page(urlset("/a", "/b", "/hidden")))
	h.serve("/a", page("a"))
	h.serve("/b", page("b", `Etag: "1"`))
	h.serve("/hidden", page("x", "X-Robots-Tag: noindex"))
	h.mustScan(t, "/a", "/b")
	go h.site.Run(t.Context())
	h.serve("/a", status(403))
	h.serve("/hidden", page("x"))
	h.eventually(t, "/b", "/hidden")
	for h.site.Status().Oldest.IsZero() {
		time.Sleep(time.Millisecond)
	}
}

// TestSameTime: a page that changes twice within the precision of its lastmod is
// checked again.
func TestSameTime(t *testing.T) {
	now := time.Now().UTC()
	for _, lastmod := range []string{now.Format(time.RFC3339), now.Format(time.DateOnly)} {
		h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
		h.serve("/s.xml", page(urlset("/a "+lastmod, "/old 2020-01-01")))
		h.serve("/a", page("first"))
		h.serve("/old", page("old"))
		h.mustScan(t, "/a", "/old")
		h.asked()
		h.serve("/a", page("second, longer"))
		h.mustScan(t, "/a", "/old")
		if got := h.asked(); !slices.Equal(got, []string{"GET /a", "GET /s.xml"}) {
			t.Errorf("%s: asked %q", lastmod, got)
		}
		known, err := h.set.Known(t.Context(), []string{"/a"})
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := known[0].Length.Bytes(); n != 14 {
			t.Errorf("%s: %d bytes", lastmod, n)
		}
	}
}

// TestExcluded: pages that the host newly excludes leave the list at once, and neither
// visits nor hints bring them back.
func TestExcluded(t *testing.T) {
	var mu sync.Mutex
	excluded := false
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: 500, Exclude: func(u *url.URL) bool {
		mu.Lock()
		defer mu.Unlock()
		return excluded && strings.HasPrefix(u.Path, "/x/")
	}})
	h.serve("/s.xml", page(urlset("/a", "/x/1", "/x/2")))
	h.serve("/a", page("a"))
	h.serve("/x/1", page("x"))
	h.serve("/x/2", status(404))
	h.mustScan(t, "/a", "/x/1")
	mu.Lock()
	excluded = true
	mu.Unlock()
	h.serve("/x/2", page("x"))
	h.mustScan(t, "/a")
	go h.site.Run(t.Context())
	u, err := url.Parse("https://example.org/x/2")
	if err != nil {
		t.Fatal(err)
	}
	h.site.Changed(u)
	for h.site.Status().Oldest.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if got := h.listed(t); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("listed %q", got)
	}
}

// TestHintsBeyondTheBudget: clients that write all the time delay a scan, but do not
// prevent it.
func TestHintsBeyondTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, err := sitemap.New(base, &sitemap.Options{Revisit: -1, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			err = site.Bind(t.Context(), noPages{}, func(context.Context, string) (scan.Stored, error) { return noPages{}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var scans atomic.Int64
		go site.Run(ctx)
		go site.Watch(ctx, func([]string) { scans.Add(1) })
		synctest.Wait()
		for range 60 {
			site.Changed()
			time.Sleep(time.Second)
		}
		if n := scans.Load(); n > 12 {
			t.Errorf("%d scans in a minute", n)
		}
		before := scans.Load()
		site.Changed()
		time.Sleep(2 * time.Minute)
		if scans.Load() == before {
			t.Error("a hint beyond the budget is forgotten")
		}
		stop()
		synctest.Wait()
	})
}

// noPages is a set without pages.
type noPages struct{ scan.Stored }

func (noPages) ApproveWithdrawn(func(context.Context) error) {}
func (noPages) Origin(context.Context) (string, error)       { return "", nil }
func (noPages) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, resourcesync.ErrNotReady
}

func (noPages) Known(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
	return make([]resourcesync.Resource, len(keys)), nil
}

// TestRecentUnverified: if no page is requested, a page keeps the time from a list of recent
// changes, although its sitemap has none or an earlier one. A later time in the sitemap counts.
func TestRecentUnverified(t *testing.T) {
	for name, lastmod := range map[string]string{"no lastmod": "", "an earlier lastmod": " 2025-12-31"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Recent: []string{"/recent.json"}, Revisit: -1, Verify: sitemap.VerifyNone})
			h.serve("/s.xml", page(urlset("/a"+lastmod, "/b"+lastmod)))
			h.serve("/recent.json", page(`[{"link":"https://example.org/a","modified_gmt":"2026-01-01T10:00:00"}]`))
			state := func() string {
				t.Helper()
				h.mustScan(t, "/a", "/b")
				known, err := h.set.Known(t.Context(), []string{"/a"})
				if err != nil {
					t.Fatal(err)
				}
				changes := 0
				for _, err := range h.set.Changes(t.Context(), resourcesync.Interval{}) {
					if err != nil {
						t.Fatal(err)
					}
					changes++
				}
				return fmt.Sprint(known[0].LastModified.Format(time.RFC3339), " ", changes)
			}
			state()
			first := state()
			if again := state(); again != first || !strings.HasPrefix(first, "2026-01-01T10:00:00Z ") {
				t.Errorf("%s, then %s", first, again)
			}
			h.serve("/s.xml", page(urlset("/a 2026-02-01", "/b"+lastmod)))
			if now := state(); !strings.HasPrefix(now, "2026-02-01T00:00:00Z ") {
				t.Errorf("the sitemap has a later time: %s", now)
			}
		})
	}
}
