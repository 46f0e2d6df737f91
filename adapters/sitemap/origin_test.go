package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/scan"
)

// into returns the set of a store that site fills.
func (h *harness) into(t testing.TB, site *sitemap.Site, o *scan.Options) *scan.Set {
	t.Helper()
	set, err := scan.Into(t.Context(), h.store, "pages", site, o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestProgress counts the pages that a scan lists and those that it cannot list.
func TestProgress(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
	h.serve("/s.xml", page(urlset("/a", "/b", "/private", "/fails", "https://other.example/c")))
	h.serve("/a", page("a"))
	h.serve("/private", status(403))
	h.serve("/fails", status(500))
	seen := false
	h.serve("/b", page("b"))
	for r, err := range h.site.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if now := h.site.Progress(); now.Resources == 0 {
			t.Errorf("after %s, the progress is %+v", r.URI, now)
		}
		seen = true
	}
	if got, want := h.site.Progress(), (scan.Progress{Resources: 2, Skipped: 2}); got != want || !seen {
		t.Errorf("progress %+v, expected %+v", got, want)
	}
}

// TestIdentity fills a set that an earlier version has recorded, and refuses the set of
// another website.
func TestIdentity(t *testing.T) {
	h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
	h.serve("/s.xml", page(urlset("/a")))
	h.serve("/a", page("a"))
	h.mustScan(t, "/a")
	if err := h.set.SetOrigin(t.Context(), `{"given":"","real":"","base_url":"https://example.org/"}`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	results := make(chan scan.Result, 10)
	site := h.another(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
	if got, err := scan.Recorded(t.Context(), h.set); got != site.Identity() || err != nil {
		t.Errorf("an earlier version has recorded %+v, %v", got, err)
	}
	set := h.into(t, site, &scan.Options{Observe: func(r scan.Result) { results <- r }})
	done := make(chan error)
	go func() { done <- set.Run(ctx) }()
	if r := <-results; r.Err != nil || r.Unchanged != 1 {
		t.Errorf("the scan has the result %+v", r)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	elsewhere, err := sitemap.New("https://other.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	var other *scan.OriginError
	if _, err := scan.Into(t.Context(), h.store, "pages", elsewhere, nil); !errors.As(err, &other) || other.Origin.Name != "https://other.example/" {
		t.Errorf("another website: %v", err)
	}
}

// TestUnbound: a Site without a set returns errors.
func TestUnbound(t *testing.T) {
	site, err := sitemap.New(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	yielded := ""
	for r, err := range site.Resources(t.Context()) {
		yielded += fmt.Sprint(r.Key, err)
	}
	if err := site.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Bind") || yielded != err.Error() {
		t.Errorf("Run: %v; Resources yields %s", err, yielded)
	}
}
