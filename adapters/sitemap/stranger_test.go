package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestStrangerHeaders: every request states that it was forwarded for a stranger, including
// requests for packages.
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

// TestManyRefused has a website that begins to refuse most pages to strangers, but not to requests
// without the headers. A few pages leave the list; if there are more, the set is hidden until the
// website answers again. Overload and failures do not count.
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
		"many":              {30, 403, 200, pages, true},
		"many, redirected":  {30, 302, 200, pages, true},
		"many, everybody":   {30, 403, 403, pages - 30, false},
		"too many requests": {30, 429, 200, pages, false},
		"failures":          {30, 500, 200, pages, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: -1, MaxRefuse: 0.15})
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

			// Another process discovers this at its start, and shows the set when the website
			// answers.
			other := h.another(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: -1, MaxRefuse: 0.15})
			go other.Run(t.Context())
			for deadline := time.Now().Add(needs.Patience); other.Hidden() == nil; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("another process shows the set")
				}
			}
		})
	}
}

// TestRefusedMeanwhile has a website that begins to refuse pages to strangers while all pages are
// visited in turn and scans run. A single page leaves the list, and its deletion is published. If
// many follow, no further deletion ever is.
func TestRefusedMeanwhile(t *testing.T) {
	needs.Time(t)
	const pages = 300
	for name, tt := range map[string]struct {
		refused int // pages
		hidden  bool
	}{
		"one":          {1, false},
		"a tenth":      {30, false},
		"over a third": {105, true},
		"all":          {pages, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: 3000})
			var refused atomic.Int64
			var all []string
			order := rand.Perm(pages)
			for i := range pages {
				path := fmt.Sprintf("/%03d", i)
				all = append(all, path)
				h.serve(path, func(w http.ResponseWriter, r *http.Request) {
					if int64(order[i]) < refused.Load() && r.Header.Get("X-Forwarded-For") != "" {
						w.WriteHeader(http.StatusForbidden)
						return
					}
					fmt.Fprint(w, path)
				})
			}
			h.serve("/s.xml", page(urlset(all...)))
			h.mustScan(t, all...)
			go h.site.Run(t.Context())
			// scanUntil scans until done returns true. It fails if a scan publishes more than most
			// deletions.
			scanUntil := func(most int, done func(deleted int, err error) bool) {
				t.Helper()
				for deadline := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
					_, err := h.scan(t)
					deleted := h.deletions(t)
					if deleted > most {
						t.Fatalf("%d deletions are published; hidden: %v", deleted, h.site.Hidden())
					}
					if done(deleted, err) {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("%d deletions, %v, hidden: %v", deleted, err, h.site.Hidden())
					}
				}
			}
			refused.Store(1)
			scanUntil(1, func(deleted int, err error) bool { return err == nil && deleted == 1 })
			time.AfterFunc(rand.N(100*time.Millisecond), func() { refused.Store(int64(tt.refused)) })
			if tt.hidden {
				scanUntil(1, func(_ int, err error) bool { return err != nil && h.site.Hidden() != nil })
				if got := len(h.listed(t)); got < pages*3/4 {
					t.Errorf("%d pages are listed", got)
				}
				return
			}
			scanUntil(tt.refused, func(deleted int, err error) bool { return err == nil && deleted == tt.refused })
			if got := len(h.listed(t)); got != pages-tt.refused || h.site.Hidden() != nil {
				t.Errorf("%d pages are listed; hidden: %v", got, h.site.Hidden())
			}
		})
	}
}

// divided has parts of eight resources, as many as a store has for a much larger set.
type divided struct {
	*sqlstore.Set
	parts []resourcesync.Part
}

func (d *divided) StatParts(context.Context, resourcesync.Range) ([]resourcesync.Part, error) {
	return d.parts, nil
}

// TestSampleOfMany has a set of so many parts that a sample reads only some of them. A bounded
// number of requests shows how many pages the website refuses to strangers, wherever they are.
func TestSampleOfMany(t *testing.T) {
	needs.Time(t)
	const pages = 10_000
	h := newHarness(t, sitemap.Options{})
	var requests, from, to atomic.Int64
	answer := func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		i, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
		if r.Header.Get("X-Forwarded-For") != "" && i >= from.Load() && i < to.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
	}
	set := &divided{Set: h.set}
	resources := make([]resourcesync.Resource, pages)
	for i := range resources {
		key := fmt.Sprintf("/%06d", i)
		resources[i] = resourcesync.Resource{Key: key, URI: base + key[1:]}
		h.serve(key, answer)
		if i%8 == 0 {
			set.parts = append(set.parts, resourcesync.Part{From: key})
		}
	}
	h.filled = set
	if err := h.set.Put(t.Context(), resources...); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, to int64 // percent: the refused pages
		hidden   bool
	}{
		"at the end": {60, 100, true},
		"in between": {50, 90, true},
		"most":       {0, 90, true},
		"a few":      {85, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			from.Store(tt.from * pages / 100)
			to.Store(tt.to * pages / 100)
			requests.Store(0)
			log := new(lockedBuffer)
			h.beside = name // the other sites hide the set at times
			site := h.another(t, sitemap.Options{Revisit: -1, Logger: slog.New(slog.NewTextHandler(log, nil))})
			go site.Run(t.Context())
			want := "the website refuses visitors some of its pages"
			if tt.hidden {
				want = "the set is not shown"
			}
			for deadline := time.Now().Add(needs.Patience); !strings.Contains(log.String(), want); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("after %d requests:\n%s", requests.Load(), log)
				}
			}
			if hidden := site.Hidden(); (hidden != nil) != tt.hidden {
				t.Errorf("hidden: %v", hidden)
			}
			if n := requests.Load(); n > 2000 { // at most 1,000 pages
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestSampleOfFailures has a website that begins to refuse a page to strangers, and fails to answer
// for all others: it is unknown whether these are refused, too, so the page leaves the list, and
// its deletion waits.
func TestSampleOfFailures(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: -1})
	var refuse, fail atomic.Bool
	var all []string
	for i := range 40 {
		path := fmt.Sprintf("/%02d", i)
		all = append(all, path)
		h.serve(path, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case fail.Load() && i > 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			case refuse.Load() && i == 0 && r.Header.Get("X-Forwarded-For") != "":
				w.WriteHeader(http.StatusForbidden)
			default:
				fmt.Fprint(w, path)
			}
		})
	}
	h.serve("/s.xml", page(urlset(all...)))
	h.mustScan(t, all...)
	refuse.Store(true)
	fail.Store(true)
	h.serve("/s.xml", page(urlset(append([]string{"/00 2026-01-01"}, all[1:]...)...)))
	if got, err := h.scan(t); err == nil || !slices.Equal(got, all[1:]) {
		t.Errorf("listed %q, %v", got, err)
	}
	if n := h.deletions(t); n > 0 {
		t.Errorf("%d deletions are published", n)
	}
	fail.Store(false)
	h.mustScan(t, all[1:]...)
	if n := h.deletions(t); n != 1 {
		t.Errorf("%d deletions are published, want 1", n)
	}
}
