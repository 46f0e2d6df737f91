package browse_test

import (
	"errors"
	"fmt"
	"html"
	"io"
	"iter"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
)

func TestRequests(t *testing.T) {
	s := newSite(t, "a.txt", "b/c.txt", "b/d/e.txt", "site/index.html", "site/style.css", ".hidden", ".git/config", "b/.f", "reserved/x", "only/.hidden")
	if err := os.Mkdir(filepath.Join(s.here, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "b", "out": "/etc", "b/up": ".."} {
		if err := os.Symlink(to, filepath.Join(s.here, link)); err != nil {
			t.Fatal(err)
		}
	}
	s.scan(t)
	for _, test := range []struct {
		target   string
		status   int
		location string
		names    []string // of a page
	}{
		{"/pub/", 200, "", []string{"a.txt", "b/", "site/"}},
		{"/pub/b/", 200, "", []string{"c.txt", "d/"}},
		{"/pub/b/d/", 200, "", []string{"e.txt"}},
		{"/pub/a.txt", 200, "", nil},
		{"/pub/site/", 200, "", nil},
		{"/pub/site/index.html", 200, "", nil},
		{"/pub", 301, "/pub/", nil},
		{"/pub/b", 301, "/pub/b/", nil},
		{"/pub/b?q=x&after=%00", 301, "/pub/b/?q=x&after=%00", nil},
		{"/pub/b/d", 301, "/pub/b/d/", nil},

		{"/", 404, "", nil},
		{"/elsewhere/", 404, "", nil},
		{"/pub/none", 404, "", nil},
		{"/pub/none/", 404, "", nil},
		{"/pub/a.txt/", 404, "", nil},
		{"/pub/a.txt/?q=a", 404, "", nil},
		// Files that are not published have no page, whether or not they exist.
		{"/pub/.git", 404, "", nil},
		{"/pub/.git/", 404, "", nil},
		{"/pub/.git/?q=config", 404, "", nil},
		{"/pub/reserved/", 404, "", nil},
		{"/pub/only", 404, "", nil},
		{"/pub/only/", 404, "", nil},
		{"/pub/only/?q=h", 404, "", nil},
		{"/pub/only/?after=h", 404, "", nil},
		{"/pub/empty", 404, "", nil},
		{"/pub/empty/", 404, "", nil},
		{"/pub/link", 404, "", nil},
		{"/pub/link/", 404, "", nil},
		{"/pub/out/", 404, "", nil},
		{"/pub/b/up/", 404, "", nil},
		// Traversal.
		{"/pub/../", 404, "", nil},
		{"/pub/../pub/", 404, "", nil},
		{"/pub/b/../", 404, "", nil},
		{"/pub/b/..", 404, "", nil},
		{"/pub/./", 404, "", nil},
		{"/pub//", 404, "", nil},
		{"/pub//b/", 404, "", nil},
		{"/pub/b//", 404, "", nil},
		{"/pub/%2e%2e/", 404, "", nil},
		{"/pub/b%2f", 404, "", nil},
		{"/pub/b%2fd/", 404, "", nil},
		{"/pub/b%00/", 404, "", nil},
		{"/pub/%ff/", 404, "", nil},
		{"//evil.example/pub/", 404, "", nil},
		{"/pub/" + strings.Repeat("x/", 500), 404, "", nil},
		// Any query is valid.
		{"/pub/b/?after=c.txt", 200, "", []string{"d/"}},
		{"/pub/b/?after=d/", 200, "", nil},
		{"/pub/b/?after=../", 200, "", []string{"c.txt", "d/"}},
		{"/pub/b/?after=" + strings.Repeat("%ff", 2000), 200, "", nil},
		{"/pub/?q=%zz&x;y", 200, "", []string{"a.txt", "b/", "site/"}},
		{"/pub/?q=++", 200, "", []string{"a.txt", "b/", "site/"}},
		{"/pub/?q=" + strings.Repeat("%ff", 300), 200, "", []string{"a.txt", "b/", "site/"}},
		{"/pub/?q=../", 200, "", nil},
	} {
		t.Run(test.target, func(t *testing.T) {
			w := s.do("GET", test.target)
			if w.Code != test.status || w.Header().Get("Location") != test.location {
				t.Fatalf("status %d, Location %q, expected %d, %q", w.Code, w.Header().Get("Location"), test.status, test.location)
			}
			if got := names(w.Body.String()); !slices.Equal(got, test.names) {
				t.Errorf("got %q, expected %q", got, test.names)
			}
		})
	}
}

func TestIndexPage(t *testing.T) {
	s := newSite(t, "index.html", "sub/index.html", "sub/a.txt", "ümlaut/index.html").scan(t)
	for target, file := range map[string]string{
		"/pub/":                    "/pub/index.html",
		"/pub/?utm_source=x&q=sub": "/pub/index.html",
		"/pub/sub/":                "/pub/sub/index.html",
		"/pub/%C3%BCmlaut/":        "/pub/%C3%BCmlaut/index.html",
	} {
		own, w := s.do("GET", file), s.do("GET", target)
		h := w.Header()
		if w.Code != 200 || w.Body.String() != own.Body.String() || h.Get("Etag") != own.Header().Get("Etag") || h.Get("Content-Type") != own.Header().Get("Content-Type") {
			t.Errorf("%s: %d %q %v", target, w.Code, w.Body, h)
		}
		if h.Get("Content-Location") != file || h.Get("Link") != `<https://example.org`+file+`>; rel="canonical"` || own.Header().Get("Link") != "" {
			t.Errorf("%s: Content-Location %s, Link %s, that of the file %q", target, h.Get("Content-Location"), h.Get("Link"), own.Header().Get("Link"))
		}
		if w := s.do("HEAD", target, "If-None-Match", h.Get("Etag")); w.Code != 304 {
			t.Errorf("%s: If-None-Match: %d", target, w.Code)
		}
		if w := s.do("GET", target, "Range", "bytes=1-2"); w.Code != 206 || w.Body.String() != "ex" {
			t.Errorf("%s: Range: %d %s", target, w.Code, w.Body)
		}
	}
	// The Source covers the file, and not the folder.
	for target, want := range map[string]bool{base: false, base + "index.html": true, base + "sub/": false} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if s.set.Covers(u) != want || s.dir.Covers(u) != want {
			t.Errorf("%s is covered: %t, %t, expected %t", u, s.set.Covers(u), s.dir.Covers(u), want)
		}
	}
}

func TestWire(t *testing.T) {
	s := newSite(t, "a.txt", "b/c.txt").scan(t)
	full := s.do("GET", "/pub/")
	h := full.Header()
	for field, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Vary": "Accept-Encoding",
		"X-Content-Type-Options": "nosniff", "Content-Length": fmt.Sprint(full.Body.Len()), "Link": "", "X-Robots-Tag": "",
	} {
		if got := h.Get(field); got != want {
			t.Errorf("%s: %q, expected %q", field, got, want)
		}
	}
	if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") {
		t.Errorf("policy %q", h.Get("Content-Security-Policy"))
	}
	zipped := s.do("GET", "/pub/", "Accept-Encoding", "gzip, deflate, br")
	z, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != full.Body.String() || zipped.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %v %v", err, zipped.Header())
	}
	if zipped.Header().Get("Etag") == h.Get("Etag") {
		t.Error("two representations have one entity tag")
	}
	for _, test := range []struct {
		method, tag, encoding string
		status                int
	}{
		{"GET", h.Get("Etag"), "", 304},
		{"HEAD", h.Get("Etag"), "", 304},
		{"GET", zipped.Header().Get("Etag"), "gzip", 304},
		{"GET", h.Get("Etag"), "gzip", 200},
		{"HEAD", `"x"`, "", 200},
		{"POST", "", "", 405},
		{"DELETE", "", "", 405},
	} {
		w := s.do(test.method, "/pub/", "If-None-Match", test.tag, "Accept-Encoding", test.encoding)
		if w.Code != test.status || test.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("%+v: status %d, %d bytes", test, w.Code, w.Body.Len())
		}
	}
	for _, encoding := range []string{"", "gzip"} {
		w := s.do("GET", "/pub/", "If-Match", `"x"`, "Accept-Encoding", encoding)
		if w.Code != 412 || w.Body.Len() > 0 || w.Header().Get("Content-Length") != "" {
			t.Errorf("If-Match, %q: %d with %d bytes, %v", encoding, w.Code, w.Body.Len(), w.Header())
		}
	}
	s.write(t, "new.txt")
	if w := s.scan(t).do("GET", "/pub/", "If-None-Match", h.Get("Etag")); w.Code != 200 {
		t.Errorf("after a change: %d", w.Code)
	}
	if w := s.do("GET", "/pub/?q=a"); w.Header().Get("X-Robots-Tag") != "noindex, nofollow" {
		t.Errorf("search: %v", w.Header())
	}
}

// TestNames: names appear as text everywhere, and their links lead to the files.
func TestNames(t *testing.T) {
	files := map[string]string{ // and how people see them
		"<script>alert(1)<":        "<script>alert(1)<",
		"javascript:alert(1)":      "javascript:alert(1)",
		"data:text":                "data:text",
		`"onmouseover="x`:          `"onmouseover="x`,
		"'&amp;{{.}}":              "'&amp;{{.}}",
		"new\nline":                `new\nline`,
		"bell\x07":                 `bell\a`,
		"rtl\u202egpj.exe":         `rtl\u202egpj.exe`,
		"zero\u200bwidth":          `zero\u200bwidth`,
		"bad\xff":                  `bad\xff`,
		"a?b#c%20d e":              "a?b#c%20d e",
		`back\slash`:               `back\slash`,
		"..x":                      "", // begins with a dot
		"ümlaut 日本":                "ümlaut 日本",
		"a:b":                      "a:b",
		strings.Repeat("long", 60): strings.Repeat("long", 60),
	}
	var paths []string
	for name := range files {
		paths = append(paths, name, "dir/"+name, name+"~/file")
	}
	s := newSite(t, paths...).scan(t)
	for _, query := range []string{"%ff", "a%c3", "%3Cscript%3Ealert", "%22onmouseover=", "%00%1b%5b"} {
		if page := s.do("GET", "/pub/?q="+query).Body.String(); !utf8.ValidString(page) || strings.Contains(page, "<script>alert") || strings.Contains(page, `"onmouseover="`) {
			t.Errorf("a search for %s:\n%s", query, page)
		}
	}
	seen := 0
	for folder, trimmed := range map[string]string{"/pub/": "~/", "/pub/dir/": ""} {
		page := s.do("GET", folder).Body.String()
		if strings.Contains(page, "<script>alert") || strings.Contains(page, `href="javascript:`) || strings.Contains(page, "about:invalid") {
			t.Error(page)
		}
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			target, name := html.UnescapeString(m[1]), html.UnescapeString(m[2])
			name = strings.TrimSuffix(name, trimmed)
			if !strings.HasPrefix(target, folder) || !slices.Contains(slices.Collect(mapValues(files)), name) && name != "dir/" {
				t.Errorf("%s: %q leads to %s", folder, name, target)
			}
			if w := s.do("GET", target); w.Code != 200 {
				t.Errorf("%s: %d", target, w.Code)
			} else if strings.HasSuffix(target, "~/") {
				if at := "<h1>" + html.EscapeString(name) + "~</h1>"; !strings.Contains(html.UnescapeString(w.Body.String()), html.UnescapeString(at)) || len(links.FindAllString(w.Body.String(), -1)) != 1 {
					t.Errorf("%s: no heading %s", target, at)
				}
			}
			seen++
		}
	}
	if want := 3*(len(files)-1) + 1; seen != want {
		t.Errorf("%d entries, expected %d", seen, want)
	}
}

func mapValues(m map[string]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range m {
			if v != "" && !yield(v) {
				return
			}
		}
	}
}

func TestFailures(t *testing.T) {
	s := newSite(t, "a.txt", "b/c.txt", "site/index.html")
	for _, target := range []string{"/pub/", "/pub/b/", "/pub/b", "/pub/?q=a"} {
		w := s.do("GET", target)
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" || w.Header().Get("Refresh") != "5" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s before the first scan: %d %v", target, w.Code, w.Header())
		}
	}
	for target, status := range map[string]int{"/pub/a.txt": 200, "/pub/site/": 200, "/pub/none": 404, "/pub/none/": 404} {
		if w := s.do("GET", target); w.Code != status {
			t.Errorf("%s before the first scan: %d", target, w.Code)
		}
	}
	s.Handler = browse.Handler(s.dir, &many{err: errors.New("secret cause")}, &browse.Options{Logger: slog.New(slog.DiscardHandler)})
	for _, target := range []string{"/pub/", "/pub/b/", "/pub/b", "/pub/?q=a"} {
		w := s.do("GET", target)
		if w.Code != 503 || w.Header().Get("Retry-After") != "30" || w.Header().Get("Refresh") != "" || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s of a broken set: %d %v %s", target, w.Code, w.Header(), w.Body)
		}
		if w := s.do("HEAD", target); w.Code != 503 || w.Body.Len() > 0 {
			t.Errorf("HEAD %s of a broken set: %d, %d bytes", target, w.Code, w.Body.Len())
		}
	}
}

// TestMissing: a file that has disappeared is not shown, even while its deletion is held.
func TestMissing(t *testing.T) {
	s := newSite(t, "a.txt", "b.txt", "c/d.txt").scan(t)
	if err := errors.Join(os.Remove(filepath.Join(s.here, "a.txt")), os.RemoveAll(filepath.Join(s.here, "c"))); err != nil {
		t.Fatal(err)
	}
	if got := names(s.do("GET", "/pub/").Body.String()); !slices.Equal(got, []string{"b.txt"}) {
		t.Errorf("got %q", got)
	}
	if w := s.do("GET", "/pub/c/"); w.Code != 404 {
		t.Errorf("a folder that has disappeared: %d", w.Code)
	}
}
