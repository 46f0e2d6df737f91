package sitemap_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestScan: the pages in sitemaps are listed with the metadata of a GET. A scan without
// changes requests only the sitemaps, and after a change of a page also that page.
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
	if st := h.site.Status(); st.Sitemaps != 3 || st.Foreign != 2 || st.ForeignURL != "https://other.example/x" {
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

// TestOtherAddress: a scan fails if the sitemaps name the website by another address only. It
// deletes nothing.
func TestOtherAddress(t *testing.T) {
	h := newHarness(t, sitemap.Options{})
	h.serve("/", page("<html>front</html>"))
	h.serve("/sitemap.xml", page(urlset("/")))
	h.mustScan(t, "/")
	const want = "name no page whose URL begins with https://example.org/, but 2 others such as http"
	h.serve("/sitemap.xml", page(urlset("http://127.0.0.1:8000/", "http://example.org/")))
	if _, err := h.scan(t); err == nil || !strings.Contains(err.Error(), want+"://127.0.0.1:8000/:") {
		t.Errorf("pages: %v", err)
	}
	h.serve("/sitemap.xml", page(`<sitemapindex><sitemap><loc>https://a.example/1.xml</loc></sitemap><sitemap><loc>https://a.example/2.xml</loc></sitemap></sitemapindex>`))
	if _, err := h.scan(t); err == nil || !strings.Contains(err.Error(), want+"s://a.example/1.xml:") {
		t.Errorf("sitemaps: %v", err)
	}
	if got := h.listed(t); !slices.Equal(got, []string{"/"}) {
		t.Errorf("listed: %q", got)
	}
	h.serve("/sitemap.xml", page(urlset("/", "http://example.org/")))
	h.mustScan(t, "/")
}

// TestPrivacy: only public pages are listed. Pages that no longer qualify are withdrawn
// at once, pages that cannot be requested stay, and withheld pages are requested again
// only if their lastmod changes.
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

// TestUnreadable: if sitemaps are unreadable or wrong, a scan fails and all resources
// stay.
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

// TestDiscovery checks the places in which sitemaps are looked for.
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

// TestVerify: "head" requests only headers, and "none" requests nothing.
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

// utf16 encodes an ASCII text in UTF-16, little-endian.
func utf16(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		b.WriteByte(0)
	}
	return b.String()
}
