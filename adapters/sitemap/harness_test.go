package sitemap_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/scan"
)

const base = "https://example.org/"

// A website answers for example.org.
type website struct {
	mu       sync.Mutex
	pages    map[string]http.HandlerFunc // by path and query
	requests []string
	server   *httptest.Server
}

func newWebsite(t testing.TB) *website {
	w := &website{pages: map[string]http.HandlerFunc{}}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

func (w *website) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	page := w.pages[r.URL.RequestURI()]
	w.requests = append(w.requests, r.Method+" "+r.URL.RequestURI())
	w.mu.Unlock()
	switch {
	case r.Host != "example.org" || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "":
		http.Error(rw, "not anonymous", 500)
	case page == nil:
		http.NotFound(rw, r)
	default:
		page(rw, r)
	}
}

// serve puts a page at a path.
func (w *website) serve(path string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[path] = h
}

// asked returns the requests since the last call, sorted.
func (w *website) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.requests
	w.requests = nil
	slices.Sort(out)
	return out
}

// page answers with text and these headers.
func page(text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
	}
}

// urlset is a sitemap of entries, each a path and, behind a space, its lastmod.
func urlset(entries ...string) string {
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, e := range entries {
		loc, lastmod, _ := strings.Cut(e, " ")
		if !strings.Contains(loc, "://") {
			loc = strings.TrimSuffix(base, "/") + loc
		}
		fmt.Fprintf(&b, "<url><loc>%s</loc>", strings.ReplaceAll(loc, "&", "&amp;"))
		if lastmod != "" {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", lastmod)
		}
		b.WriteString("</url>")
	}
	return b.String() + "</urlset>"
}

// A harness is a site with a store.
type harness struct {
	*website
	site   *sitemap.Site
	store  *sqlstore.Store
	set    *sqlstore.Set
	filled scan.Stored // what a Site gets in place of set, unless nil
	beside string      // the end of the names of further sets
	folder string
}

func newHarness(t testing.TB, o sitemap.Options) *harness {
	t.Helper()
	return newHarnessOf(t, newWebsite(t), o)
}

func newHarnessOf(t testing.TB, site *website, o sitemap.Options) *harness {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), &sqlstore.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	set, err := store.Set(t.Context(), "pages", nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{website: site, store: store, set: set, folder: t.TempDir()}
	o.Folder, o.Logger = h.folder, cmp.Or(o.Logger, log)
	h.site = h.bound(t, o)
	return h
}

// bound returns a Site that fills the set.
func (h *harness) bound(t testing.TB, o sitemap.Options) *sitemap.Site {
	t.Helper()
	return h.boundTo(t, base, o)
}

// boundTo is like bound, with another base URL.
func (h *harness) boundTo(t testing.TB, base string, o sitemap.Options) *sitemap.Site {
	t.Helper()
	if o.Rate = 10_000; h.server != nil {
		o.Upstream = h.server.URL
	}
	set := h.filled
	if set == nil {
		set = h.set
	}
	site, err := sitemap.New(base, &o)
	if err == nil {
		err = site.Bind(t.Context(), set, h.open)
	}
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// open opens a further set for a Site.
func (h *harness) open(ctx context.Context, purpose string) (scan.Stored, error) {
	return h.store.Set(ctx, purpose+" "+cmp.Or(h.beside, "pages"), nil)
}

// another returns another Site with the same set, as another process would open it.
func (h *harness) another(t testing.TB, o sitemap.Options) *sitemap.Site {
	t.Helper()
	o.Folder, o.Logger = t.TempDir(), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return h.bound(t, o)
}

// scan scans and returns the listed paths, sorted.
func (h *harness) scan(t testing.TB) ([]string, error) {
	t.Helper()
	_, err := h.set.Scan(t.Context(), h.site.Resources(t.Context()))
	return h.listed(t), err
}

func (h *harness) listed(t testing.TB) (paths []string) {
	t.Helper()
	for r, err := range h.set.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, strings.TrimPrefix(r.URI, "https://example.org"))
	}
	return paths
}

func (h *harness) mustScan(t testing.TB, want ...string) {
	t.Helper()
	got, err := h.scan(t)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, listed %q, want %q", err, got, want)
	}
}

// eventually waits until these pages are listed.
func (h *harness) eventually(t *testing.T, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
		got := h.listed(t)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("listed %q, want %q", got, want)
		}
	}
}
