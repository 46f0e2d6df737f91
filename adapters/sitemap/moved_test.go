package sitemap_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

// newMoved returns a harness of a website that has moved from http://example.org/old/ to base. A
// Site at the former URL has listed pages, and withheld those in hidden. Nothing is served at the
// new URLs yet except /s.xml, which names all of them.
func newMoved(t *testing.T, o sitemap.Options, pages, hidden []string) *harness {
	t.Helper()
	h := newHarness(t, o)
	var urls []string
	for _, path := range pages {
		h.serve("/old"+path, page("former", `Etag: "1"`))
	}
	for _, path := range hidden {
		h.serve("/old"+path, page("former", "X-Robots-Tag: noindex"))
	}
	for _, path := range slices.Concat(pages, hidden) {
		urls = append(urls, "http://example.org/old"+path)
	}
	h.serve("/old.xml", page(urlset(urls...)))
	former := h.boundTo(t, "http://example.org/old/", sitemap.Options{Sitemaps: []string{"/old.xml"}, Logger: slog.New(slog.DiscardHandler)})
	if _, err := h.set.Scan(t.Context(), former.Resources(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := h.listed(t); len(got) != len(pages) || !strings.HasPrefix(got[0], "http://example.org/old/") {
		t.Fatalf("at the former URL are listed %q", got)
	}
	h.serve("/s.xml", page(urlset(slices.Concat(pages, hidden)...)))
	h.asked()
	return h
}

// TestVisitsAfterMove: visits request pages at their new URLs. A visit that has read a former URL
// must not list it again after a scan has replaced it.
func TestVisitsAfterMove(t *testing.T) {
	long := "/old/" + strings.Repeat("long/", 300) // its key is shortened
	pages := []string{"/a?b=/c", long}
	h := newMoved(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Revisit: 500}, pages, []string{"/hidden"})
	for _, path := range append(pages, "/hidden") {
		h.serve(path, page("now", `Etag: "2"`))
	}
	go h.site.Run(t.Context())
	h.eventually(t, "/a?b=/c", "/hidden", long)
	for _, request := range h.asked() {
		if strings.HasPrefix(request, "GET /old/") && request != "GET "+long {
			t.Errorf("former URL requested: %s", request)
		}
	}
}

// TestScanAfterMove: after a scan, all pages are listed at their new URLs. Validators and verdicts of
// the former ones do not count, and a page whose check failed is checked again.
func TestScanAfterMove(t *testing.T) {
	h := newMoved(t, sitemap.Options{Sitemaps: []string{"/s.xml"}}, []string{"/failing", "/same"}, []string{"/hidden"})
	h.serve("/failing", status(500))
	h.serve("/same", page("now", `Etag: "1"`))
	h.serve("/hidden", page("now"))
	h.mustScan(t, "/failing", "/hidden", "/same")
	same, err := h.set.Known(t.Context(), []string{"/same"})
	if err != nil || same[0].Length != resourcesync.Bytes(3) {
		t.Errorf("%v, /same is listed as %+v", err, same)
	}
	h.asked()
	h.serve("/failing", page("now"))
	h.mustScan(t, "/failing", "/hidden", "/same")
	if got := h.asked(); !slices.Contains(got, "GET /failing") || slices.Contains(got, "GET /same") {
		t.Errorf("the second scan requests %q", got)
	}
}
