package browse_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

const base = "https://example.org/pub/"

// A site is a folder that has been scanned into a set.
type site struct {
	http.Handler
	here string
	dir  *dir.Dir
	set  *sqlstore.Set
}

func newSite(t testing.TB, paths ...string) *site {
	t.Helper()
	s := &site{here: t.TempDir()}
	for _, path := range paths {
		s.write(t, path)
	}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.dir, err = dir.Open(s.here, base, &dir.Options{Logger: quiet, Exclude: func(path string, _ bool) bool { return path == "reserved" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.dir.Close() })
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state"), &sqlstore.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if s.set, err = store.Set(t.Context(), "files", &scan.SetOptions{AwaitScan: true}); err != nil {
		t.Fatal(err)
	}
	s.Handler = browse.Handler(s.dir, s.set, &browse.Options{Source: "https://example.org/source", Logger: quiet})
	return s
}

func (s *site) write(t testing.TB, path string) {
	t.Helper()
	path = filepath.Join(s.here, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte("text"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) scan(t testing.TB) *site {
	t.Helper()
	if _, err := s.set.Scan(t.Context(), s.dir.Resources(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) do(method, target string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	s.ServeHTTP(w, r)
	return w
}

var links = regexp.MustCompile(`<td>.*?<a href="([^"]*)"><bdi>([^<]*)</bdi></a></td>`)

// names returns the names of the entries of a page.
func names(page string) []string {
	var all []string
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		all = append(all, html.UnescapeString(m[2]))
	}
	return all
}

var nextLink = regexp.MustCompile(`<a class="next" href="([^"]*)"`)

func next(page string) string {
	if m := nextLink.FindStringSubmatch(page); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

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
		// What is not published has no page, whether or not it exists.
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

// TestNames: names are text, wherever they are, and their links lead to the files.
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
		if strings.Contains(page, "<script>alert") || strings.Contains(page, `href="javascript:`) || strings.Contains(page, "ZgotmplZ") {
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

func TestPages(t *testing.T) {
	var want []string
	for i := range 450 {
		name := fmt.Sprintf("%04d.txt", i)
		if i%3 == 0 {
			name = fmt.Sprintf("%04d/", i)
		}
		want = append(want, name)
	}
	s := newSite(t)
	for _, name := range want {
		if strings.HasSuffix(name, "/") {
			s.write(t, "sub/"+name+"a")
			name += "b"
		}
		s.write(t, "sub/"+name)
	}
	s.scan(t)
	for target, n := range map[string]int{"/pub/sub/": 3, "/pub/sub/?after=0199.txt": 2, "/pub/sub/?after=0249/": 1} {
		var got []string
		pages := 0
		for ; target != ""; pages++ {
			page := s.do("GET", target).Body.String()
			got = append(got, names(page)...)
			if strings.Contains(page, ">First page<") != strings.Contains(target, "after=") {
				t.Errorf("%s: wrong link to the first page", target)
			}
			target = next(page)
		}
		if pages != n || !slices.Equal(got, want[len(want)-len(got):]) {
			t.Errorf("%d pages with %d entries, expected %d", pages, len(got), n)
		}
	}
}

func TestSearch(t *testing.T) {
	s := newSite(t, "Report.pdf", "report-1.txt", "report-2/x.txt", "sub/My-report.txt", "sub/REPORTS/y.txt", "sub/REPORTS/z.txt", "sub/other/report/report.txt", "z.txt").scan(t)
	for _, test := range []struct {
		target string
		names  []string
	}{
		{"/pub/?q=report", []string{"report-1.txt", "report-2/", "Report.pdf", "sub/My-report.txt", "sub/REPORTS/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/?q=Report", []string{"Report.pdf", "report-1.txt", "report-2/", "sub/My-report.txt", "sub/REPORTS/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/?q=+/sub/my+", []string{"sub/My-report.txt"}},
		{"/pub/?q=sub/o", []string{"sub/other/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/sub/?q=report", []string{"My-report.txt", "REPORTS/", "other/report/", "other/report/report.txt"}},
		{"/pub/sub/?q=report&after=REPORTS/y.txt", []string{"other/report/", "other/report/report.txt"}},
		{"/pub/?q=.txt", []string{"report-1.txt", "report-2/x.txt", "sub/My-report.txt", "sub/REPORTS/y.txt", "sub/REPORTS/z.txt", "sub/other/report/report.txt", "z.txt"}},
		{"/pub/?q=nothing", nil},
		{"/pub/?q=%3Cscript%3E", nil},
	} {
		w := s.do("GET", test.target)
		if got := names(w.Body.String()); !slices.Equal(got, test.names) {
			t.Errorf("%s: got %q, expected %q", test.target, got, test.names)
		}
		if next(w.Body.String()) != "" {
			t.Errorf("%s has a next page", test.target)
		}
	}
}

// A many is a set of n files, each of which exists, that counts what is read.
type many struct {
	n, read int
	err     error
}

func (m *many) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(m.n)}, m.err
}

func (m *many) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if m.err != nil {
			yield(resourcesync.Resource{}, m.err)
			return
		}
		for i := range m.n {
			if key := fmt.Sprintf("file-%07d", i); r.Contains(key) {
				if n--; n < 0 || !yield(resourcesync.Resource{Key: key}, nil) {
					return
				}
				m.read++
			}
		}
	}
}

func (m *many) Folder(ctx context.Context, _ string, r resourcesync.Range, n int) (found []resourcesync.Resource, err error) {
	for res, err := range m.First(ctx, r, n) {
		if err != nil {
			return nil, err
		}
		found = append(found, res)
	}
	return found, nil
}

// TestBounds: a page reads a bounded number of files.
func TestBounds(t *testing.T) {
	set := &many{n: 100_000}
	s := newSite(t, "file-0009999", "file-0010000", "file-0099999")
	s.Handler = browse.Handler(s.dir, set, nil)
	for target, most := range map[string]int{
		"/pub/":                             201,
		"/pub/?after=file-0050000":          201,
		"/pub/?q=file":                      51 + 10_000,
		"/pub/?q=99999":                     10_000,
		"/pub/?q=none&after=file-0020000":   10_000,
		"/pub/?q=file-00999&after=file-001": 10_000,
	} {
		set.read = 0
		if w := s.do("GET", target); w.Code != 200 || set.read > most {
			t.Errorf("%s: %d, %d files read, expected at most %d", target, w.Code, set.read, most)
		}
	}
	target, pages := "/pub/?q=999", 0
	var got []string
	for ; target != ""; pages++ {
		page := s.do("GET", target).Body.String()
		got = append(got, names(page)...)
		target = next(page)
		if target != "" && !strings.Contains(page, "10,000 files searched, up to file-00") {
			t.Errorf("%s: the page does not say what has been searched", target)
		}
	}
	if want := []string{"file-0009999", "file-0099999"}; pages < 10 || pages > 11 || !slices.Equal(got, want) {
		t.Errorf("%d pages, %q, expected %q", pages, got, want)
	}
	// Beginnings are found at once.
	if got := names(s.do("GET", "/pub/?q=file-009999").Body.String()); !slices.Equal(got, []string{"file-0099999"}) {
		t.Errorf("got %q", got)
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

// sorted is a set of files.
type sorted []string

func (s sorted) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(len(s))}, nil
}

func (s sorted) First(_ context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, key := range s {
			if r.Contains(key) {
				if n--; n < 0 || !yield(resourcesync.Resource{Key: key}, nil) {
					return
				}
			}
		}
	}
}

func (s sorted) Folder(_ context.Context, folder string, r resourcesync.Range, n int) (entries []resourcesync.Resource, err error) {
	last := ""
	for _, key := range s {
		rest, ok := strings.CutPrefix(key, folder)
		if !ok || !r.Contains(key) {
			continue
		}
		if name, _, isFolder := strings.Cut(rest, "/"); isFolder {
			key = folder + name + "/"
		}
		if key != last && len(entries) < n {
			entries, last = append(entries, resourcesync.Resource{Key: key}), key
		}
	}
	return entries, nil
}

// FuzzQuery: whatever a query is, the answer is a page whose entries are in the folder and
// contain the text.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"a", ""}, {"b/c", "a.txt"}, {"../", "b/"}, {"\xff", "\xff"}, {"\xe8", "0"}, {"/X", "0"}, {"<script>", "\x00"}, {"É", "b/d/e.txt"}} {
		f.Add(seed[0], seed[1])
	}
	keys := sorted{"A<b>.txt", "a.txt", "b/c.txt", "b/d/e.txt", "b/d/é.txt", "b/é/x"}
	s := newSite(f, keys...)
	s.Handler = browse.Handler(s.dir, keys, nil) // a database is slow to fuzz
	f.Fuzz(func(t *testing.T, q, after string) {
		w := s.do("GET", "/pub/b/?"+url.Values{"q": {q}, "after": {after}}.Encode())
		page := w.Body.String()
		if w.Code != 200 || strings.Contains(page, "<script") || strings.Contains(page, "ZgotmplZ") {
			t.Fatalf("%d %s", w.Code, page)
		}
		find := strings.TrimPrefix(strings.ToValidUTF8(strings.TrimSpace(q), ""), "/") // as the page shows it
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[1], "/pub/b/") {
				t.Errorf("an entry outside of the folder: %s", m[1])
			}
			if name := html.UnescapeString(m[2]); len(q) < 200 && !strings.Contains(strings.ToLower("/"+name), strings.ToLower(find)) {
				t.Errorf("%q does not contain %q", name, find)
			}
		}
	})
}

func BenchmarkPage(b *testing.B) {
	s := newSite(b)
	for i := range 2000 {
		s.write(b, fmt.Sprintf("deep/down/here/file-%05d.txt", i))
	}
	s.scan(b)
	for _, target := range []string{"/pub/deep/down/here/", "/pub/?q=7.txt"} {
		b.Run(target, func(b *testing.B) {
			for b.Loop() {
				if w := s.do("GET", target, "Accept-Encoding", "gzip"); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
