package sitemap_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	beside string // the end of the names of further sets
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
	if o.Rate = 10_000; h.server != nil {
		o.Upstream = h.server.URL
	}
	site, err := sitemap.New(base, &o)
	if err == nil {
		err = site.Bind(t.Context(), h.set, h.open)
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

// another returns another Site with the same set, as another process has.
func (h *harness) another(t testing.TB, o sitemap.Options) *sitemap.Site {
	t.Helper()
	o.Folder, o.Logger = t.TempDir(), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return h.bound(t, o)
}

// scan scans and returns what is listed: paths, sorted.
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

// TestScan: what sitemaps name is listed with what a GET says about it; an unchanged
// scan asks for the sitemaps alone, and of a changed page for that page.
func TestScan(t *testing.T) {
	h := newHarness(t, sitemap.Options{})
	h.serve("/robots.txt", page("User-agent: *\nDisallow:\nsitemap: https://example.org/index.xml # ours\nSitemap: https://cdn.example/s.xml\n"))
	h.serve("/index.xml", page(`<sitemapindex><sitemap><loc>https://example.org/s1.xml</loc></sitemap><sitemap><loc>/s2.txt</loc></sitemap><sitemap><loc>https://example.org/index.xml</loc></sitemap></sitemapindex>`))
	h.serve("/s1.xml", page(urlset("/ 2026-01-01", "/a?b=c&d 2026-01-02", "https://other.example/x", "http://example.org/y"), `Etag: "s1"`))
	h.serve("/s2.txt", page("https://example.org/file.pdf\nhttps://example.org/a?b=c&d\n"))
	h.serve("/", page("<html>front</html>"))
	h.serve("/a?b=c&d", page("<html>a</html>", "Last-Modified: Thu, 01 Jan 2026 05:00:00 GMT"))
	h.serve("/file.pdf", page("%PDF", "Content-Type: application/pdf", `Etag: "1"`))
	h.mustScan(t, "/", "/a?b=c&d", "/file.pdf")
	known, err := h.set.Known(t.Context(), []string{"/a?b=c&d", "/file.pdf", "/"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"2026-01-01T05:00:00Z text/html 14",
		"0001-01-01T00:00:00Z application/pdf 4", // nobody says when it was modified
		"2026-01-01T00:00:00Z text/html 18",
	} {
		n, _ := known[i].Length.Bytes()
		got := fmt.Sprint(known[i].LastModified.Format(time.RFC3339), " ", known[i].Type, " ", n)
		if !strings.HasSuffix(got, want) || len(known[i].Hashes) != 1 {
			t.Errorf("%s: %s, want %s", known[i].URI, got, want)
		}
	}
	if st := h.site.Status(); st.Sitemaps != 3 || st.Foreign != 2 {
		t.Errorf("%+v", st)
	}

	h.asked()
	h.mustScan(t, "/", "/a?b=c&d", "/file.pdf")
	if got := h.asked(); !slices.Equal(got, []string{"GET /index.xml", "GET /robots.txt", "GET /s1.xml", "GET /s2.txt"}) {
		t.Errorf("unchanged: %q", got)
	}
	if st := h.site.Status(); st.Unchanged != 1 {
		t.Errorf("%+v", st)
	}

	h.serve("/s1.xml", page(urlset("/ 2026-01-01", "/a?b=c&d 2026-01-03"), `Etag: "s2"`))
	h.serve("/a?b=c&d", page("<html>new</html>"))
	h.mustScan(t, "/", "/a?b=c&d", "/file.pdf")
	if got := h.asked(); !slices.Contains(got, "GET /a?b=c&d") || len(got) != 5 {
		t.Errorf("changed: %q", got)
	}
	h.serve("/s1.xml", page(urlset("/ 2026-01-01")))
	h.serve("/s2.txt", page("https://example.org/file.pdf"))
	h.mustScan(t, "/", "/file.pdf")
}

// TestPrivacy: only what anybody can have is listed; what no longer qualifies is
// withdrawn at once, what cannot be asked for stays, and what was withheld is not
// asked for again unless its lastmod moves.
func TestPrivacy(t *testing.T) {
	needs.Time(t)
	for name, tt := range map[string]struct {
		now    http.HandlerFunc
		listed bool // if it was not before
		stays  bool // if it was
	}{
		"ok":                         {page("<html>"), true, true},
		"401":                        {status(401), false, false},
		"403":                        {status(403), false, false},
		"404":                        {status(404), false, false},
		"410":                        {status(410), false, false},
		"451":                        {status(451), false, false},
		"login":                      {status(302, "Location: /wp-login.php?redirect_to=x"), false, false},
		"moved":                      {status(301, "Location: /elsewhere"), false, false},
		"noindex in the header":      {page("x", "X-Robots-Tag: noarchive, NoIndex"), false, false},
		"none in the header":         {page("x", "X-Robots-Tag: none"), false, false},
		"noindex for one robot":      {page("x", "X-Robots-Tag: googlebot: noindex"), true, true},
		"noindex in the page":        {page(`<html><head><META NAME=Robots content="nofollow,noindex">`), false, false},
		"noindex in a comment":       {page(`<html><head><!-- <meta name=robots content=noindex> --></head>`), true, true},
		"noindex in the body":        {page(`<html><head></head><body><meta name=robots content=noindex>`), true, true},
		"canonical elsewhere":        {page(`<html><head><link rel="canonical" href="https://other.example/a">`), false, false},
		"canonical in the header":    {page("x", `Link: <https://other.example/a>; rel="canonical"`), false, false},
		"canonical on the site":      {page(`<html><head><link href="/b" rel="canonical">`), true, true},
		"noindex, compressed":        {page(string(gzipped(`<html><head><meta name=robots content=noindex>`)), "Content-Encoding: gzip"), false, false},
		"other coding":               {page("x", "Content-Encoding: br"), false, true},
		"noindex, odd type":          {page(`<html><head><meta name=robots content=noindex>`, "Content-Type: Text/HTML"), false, false},
		"noindex in UTF-16":          {page("\xff\xfe" + utf16(`<html><head><meta name=robots content=noindex>`)), false, false},
		"noindex, charset UTF-16":    {page(utf16(`<html><head><meta name=robots content=noindex>`), "Content-Type: text/html; charset=utf-16le"), false, false},
		"noindex, XML in UTF-16":     {page(utf16(`<?xml version="1.0"?><html><head><meta name="robots" content="noindex"/>`), "Content-Type: application/xhtml+xml"), false, false},
		"noindex in Shift_JIS":       {page("<html><head><meta charset=shift_jis><title>\x83\x5c</title><meta name=robots content=noindex>", "Content-Type: text/html"), false, false},
		"noindex in ISO-2022-JP":     {page("<html><head><title>\x1b$B<z\x1b(B</title><meta name=robots content=noindex>", "Content-Type: text/html; charset=iso-2022-jp"), false, false},
		"no noindex in UTF-16":       {page("\xff\xfe" + utf16(`<html><head><title>noindex</title></head>`)), true, true},
		"noindex after a long style": {page(`<html><head><style>` + strings.Repeat("a{}\n", 200_000) + `</style><meta name=robots content=noindex>`), false, false},
		"a long head":                {page(`<html><head><style>` + strings.Repeat("a{}\n", 1_100_000) + `</style></head><body>`), false, false},
		"a long script, no body":     {page(`<title>x</title><script>` + strings.Repeat("a{}\n", 1_100_000) + `</script>`), false, false},
		"a long body":                {page(`<html><head></head><body>` + strings.Repeat("<p>text", 700_000)), true, true},
		"a long body without a tag":  {page(`<title>x</title><p>` + strings.Repeat("<p>text", 700_000)), true, true},
		"a long head, compressed":    {page(string(gzipped(`<html><head><style>`+strings.Repeat("a{}\n", 1_100_000)+`</style></head><body>`)), "Content-Encoding: gzip"), false, false},
		"noindex, no type": {func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, `<html><head><meta name=robots content=noindex>`)
		}, false, false},
		"304 for nothing": {status(304), false, true},
		"400":             {status(400), false, true},
		"423":             {status(423), false, true},
		"500":             {status(500), false, true},
		"maintenance":     {status(503), false, true},
		"busy":            {status(429), false, true},
		"odd":             {status(204), false, true},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "short")
		}, false, true},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, true},
		"malformed length": {func(w http.ResponseWriter, r *http.Request) {
			conn, rw, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")
			_ = rw.Flush()
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
			listing := func(on bool, paths ...string) []string {
				if !on {
					return nil
				}
				return paths
			}
			h.serve("/s.xml", page(urlset("/new 2026-01-01", "/old 2026-01-01")))
			h.serve("/old", page("<html>"))
			h.serve("/new", tt.now)
			h.mustScan(t, append(listing(tt.listed, "/new"), "/old")...)
			h.asked()
			// Between scans:
			h.serve("/old", tt.now)
			h.serve("/s.xml", page(urlset("/new 2026-01-01", "/old 2026-01-02")))
			h.mustScan(t, append(listing(tt.listed, "/new"), listing(tt.stays, "/old")...)...)
			if got := h.asked(); slices.Contains(got, "GET /new") && (tt.listed || !tt.stays) {
				t.Errorf("unchanged pages are requested again: %q", got)
			}
			// And back:
			h.serve("/old", page("<html>"))
			h.serve("/new", page("<html>"))
			h.serve("/s.xml", page(urlset("/new 2026-01-03", "/old 2026-01-03")))
			h.mustScan(t, "/new", "/old")
		})
	}
}

// TestUnreadable: when sitemaps cannot be read, or lie, a scan fails and everything
// stays.
func TestUnreadable(t *testing.T) {
	bomb := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(zeros(t))
	}
	for name, broken := range map[string]http.HandlerFunc{
		"down":               status(500),
		"maintenance":        status(503),
		"gone":               status(404),
		"login":              status(302, "Location: /login"),
		"elsewhere":          status(302, "Location: https://other.example/s.xml"),
		"redirect loop":      status(302, "Location: /s.xml"),
		"200 for everything": page("<!doctype html><html><body>Welcome"),
		"empty":              page(""),
		"cut off":            page(`<urlset><url><loc>https://example.org/a</loc></url>`),
		"wrong length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999")
			_, _ = io.WriteString(w, urlset("/a"))
		},
		"gzip bomb":              bomb,
		"gzip, damaged":          page("\x1f\x8bnot gzip"),
		"304 for nothing":        status(304),
		"entities":               page(`<!DOCTYPE u [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>https://example.org/&b;</loc></url></urlset>`),
		"a child that is broken": page(`<sitemapindex><sitemap><loc>/none.xml</loc></sitemap></sitemapindex>`),
		"endless nesting": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `<sitemapindex><sitemap><loc>/s.xml?%sx</loc></sitemap></sitemapindex>`, r.URL.RawQuery)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}})
			h.serve("/s.xml", page(urlset("/a", "/b")))
			h.serve("/a", page("a"))
			h.serve("/b", page("b"))
			h.mustScan(t, "/a", "/b")
			h.serve("/s.xml", broken)
			for i := range 6 {
				h.serve("/s.xml?"+strings.Repeat("x", i+1), broken)
			}
			if got, err := h.scan(t); err == nil || !slices.Equal(got, []string{"/a", "/b"}) {
				t.Errorf("%v, listed %q", err, got)
			}
		})
	}
}

// TestDiscovery: where sitemaps are looked for.
func TestDiscovery(t *testing.T) {
	for name, tt := range map[string]struct {
		pages map[string]http.HandlerFunc
		ok    bool
	}{
		"WordPress":            {map[string]http.HandlerFunc{"/wp-sitemap.xml": page(urlset("/a"))}, true},
		"redirected":           {map[string]http.HandlerFunc{"/sitemap.xml": status(302, "Location: /x.xml"), "/x.xml": page(urlset("/a"))}, true},
		"robots without any":   {map[string]http.HandlerFunc{"/robots.txt": page("User-agent: *"), "/sitemap.xml": page(urlset("/a"))}, true},
		"robots is a web page": {map[string]http.HandlerFunc{"/robots.txt": page("<html>hello"), "/sitemap.xml": page(urlset("/a"))}, true},
		"robots fails":         {map[string]http.HandlerFunc{"/robots.txt": status(500), "/sitemap.xml": page(urlset("/a"))}, false},
		"nothing":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, sitemap.Options{})
			maps.Copy(h.pages, tt.pages)
			h.serve("/a", page("a"))
			got, err := h.scan(t)
			if (err == nil) != tt.ok || (len(got) == 1) != tt.ok {
				t.Errorf("%v, %q", err, got)
			}
		})
	}
}

// TestVerify: head asks for headers alone, none for nothing.
func TestVerify(t *testing.T) {
	for verify, want := range map[sitemap.Verify]struct{ listed, asked []string }{
		sitemap.VerifyHead: {[]string{"/a"}, []string{"GET /s.xml", "HEAD /", "HEAD /a", "HEAD /private"}},
		sitemap.VerifyNone: {[]string{"/a", "/private"}, []string{"GET /s.xml"}},
	} {
		h := newHarness(t, sitemap.Options{Sitemaps: []string{"/s.xml"}, Verify: verify})
		h.serve("/s.xml", page(urlset("/a 2026-01-01", "/private 2026-01-01")))
		h.serve("/a", page("text"))
		h.serve("/private", status(403))
		h.mustScan(t, want.listed...)
		if got := h.asked(); !slices.Equal(got, want.asked) {
			t.Errorf("%s: %q", verify, got)
		}
	}
}

// TestHints: a hint has listed pages looked at, and a scan called for; what is
// recent is found; nobody can list what no sitemap names.
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

// eventually waits until these pages are listed.
func (h *harness) eventually(t *testing.T, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := h.listed(t)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("listed %q, want %q", got, want)
		}
	}
}

// TestRevisit: pages are visited in turn, withheld ones too, and it goes on where
// it was.
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

// TestSameTime: a page that changes twice within the grain of its lastmod is looked at
// again.
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

// TestExcluded: pages that the host excludes from now on leave the list at once, and
// neither visits nor hints bring them back.
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

// TestHintsBeyondTheBudget: clients that write all the time delay a scan, and do not
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

// utf16 encodes an ASCII text in UTF-16, with the low byte first.
func utf16(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		b.WriteByte(0)
	}
	return b.String()
}

// TestRecentUnverified: if no page is requested, the time in a list of recent changes stays that
// of the page, although its sitemap has none or an earlier one. A later one in the sitemap counts.
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
