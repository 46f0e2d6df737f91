package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

// TestStrangerHeaders has every request say that it was forwarded for a stranger, also those for
// packages.
func TestStrangerHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		as   sitemap.Stranger
		want map[string]string
	}{
		"default": {sitemap.Stranger{}, map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Real-IP": "192.0.2.1", "Forwarded": `for=192.0.2.1;host="example.org";proto=https`,
		}},
		"IPv6": {sitemap.Stranger{Address: netip.MustParseAddr("2001:db8::1"), Headers: []string{"forwarded"}}, map[string]string{
			"X-Forwarded-For": "", "X-Real-IP": "", "Forwarded": `for="[2001:db8::1]";host="example.org";proto=https`,
		}},
		"another header": {sitemap.Stranger{Headers: []string{"CF-Connecting-IP"}}, map[string]string{
			"X-Forwarded-For": "", "CF-Connecting-IP": "192.0.2.1",
		}},
		"off": {sitemap.Stranger{Off: true}, map[string]string{"X-Forwarded-For": "", "X-Real-IP": "", "Forwarded": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Stranger: tt.as, Recent: []string{"/feed"}})
			var requests atomic.Int64
			checked := func(next http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					for name, want := range tt.want {
						if got := strings.Join(r.Header.Values(name), ", "); got != want {
							t.Errorf("%s: %s: %q, want %q", r.URL.Path, name, got, want)
						}
					}
					next(w, r)
				}
			}
			h.serve("/robots.txt", checked(page("Sitemap: https://example.org/s.xml")))
			h.serve("/s.xml", checked(page(urlset("/a"))))
			h.serve("/feed", checked(page(urlset("/a"))))
			h.serve("/a", checked(page("a")))
			h.mustScan(t, "/a")
			content, err := h.site.Open(t.Context(), resourcesync.Resource{URI: base + "a"})
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := io.ReadAll(content); string(text) != "a" {
				t.Errorf("got %q", text)
			}
			content.Close()
			if n := requests.Load(); n < 5 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestManyRefused has a website that begins to refuse strangers most of its pages, and not requests
// without their headers. A few pages leave the list; for more, nothing is shown until it answers
// again. Overload and failures mean nothing.
func TestManyRefused(t *testing.T) {
	const pages = 40
	for name, tt := range map[string]struct {
		refused int // pages
		status  int
		itself  int // the status without the headers
		listed  int
		hidden  bool
	}{
		"none":              {0, 403, 200, pages, false},
		"a few":             {4, 403, 200, pages - 4, false},
		"many":              {30, 403, 200, pages - 5, true},
		"many, redirected":  {30, 302, 200, pages - 5, true},
		"many, everybody":   {30, 403, 403, pages - 30, false},
		"too many requests": {30, 429, 200, pages, false},
		"failures":          {30, 500, 200, pages, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: -1, MayRefuse: func(context.Context) (int64, error) { return 5, nil }})
			var refuse atomic.Bool
			var all []string
			for i := range pages {
				path := fmt.Sprintf("/%02d", i)
				all = append(all, path)
				h.serve(path, func(w http.ResponseWriter, r *http.Request) {
					status := tt.status
					if r.Header.Get("X-Forwarded-For") == "" {
						status = tt.itself
					}
					if refuse.Load() && i < tt.refused && status != 200 {
						w.Header().Set("Location", "/login")
						w.WriteHeader(status)
						return
					}
					fmt.Fprint(w, path)
				})
			}
			publish := func(lastmod string) {
				var entries []string
				for _, path := range all {
					entries = append(entries, path+" "+lastmod)
				}
				h.serve("/s.xml", page(urlset(entries...)))
			}
			publish("2026-01-01")
			h.mustScan(t, all...)
			refuse.Store(true)
			publish("2026-01-02")
			if _, err := h.scan(t); (err != nil) != tt.hidden {
				t.Fatal(err)
			}
			if got := len(h.listed(t)); got != tt.listed {
				t.Errorf("%d pages are listed, want %d", got, tt.listed)
			}
			err := h.site.Hidden()
			if stranger, ok := errors.AsType[*sitemap.StrangerError](err); ok != tt.hidden || ok && !strings.Contains(stranger.Error(), "X-Forwarded-For, X-Real-IP, Forwarded: 192.0.2.1") {
				t.Errorf("hidden: %v", err)
			}
			if !tt.hidden {
				return
			}
			if n := h.deletions(t); n > 0 {
				t.Errorf("%d deletions are published", n)
			}
			if _, err := h.site.Open(t.Context(), resourcesync.Resource{URI: base + "39"}); !errors.Is(err, resourcesync.ErrNotReady) {
				t.Errorf("the content of a package: %v", err)
			}

			// Another process finds out at its start, and shows the set when the website answers.
			other := h.another(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: -1, MayRefuse: func(context.Context) (int64, error) { return 5, nil }})
			go other.Run(t.Context())
			for deadline := time.Now().Add(20 * time.Second); other.Hidden() == nil; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("another process shows the set")
				}
			}
		})
	}
}
