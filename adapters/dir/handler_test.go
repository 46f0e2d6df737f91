package dir

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// serve sends a request for uri to the handler of d.
func serve(d *Dir, method, uri string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, uri, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	d.Handler(nil).ServeHTTP(w, r)
	return w
}

// TestEveryListedURI gets each resource of a folder of awkward names over a real
// connection and compares the responses with the list.
func TestEveryListedURI(t *testing.T) {
	here := t.TempDir()
	for i, name := range awkwardNames {
		body := strings.Repeat(fmt.Sprint("bödy ", i, "\n"), i*i*i)
		if err := os.WriteFile(filepath.Join(here, name), []byte(body), 0o644); err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		if i%2 == 0 {
			write(t, here, "sub/"+name+" d/"+name, body)
		}
	}
	write(t, here, "index.html", "<title>x</title>")
	write(t, here, "sub/index.html", "<title>y</title>")
	write(t, here, "image", "\x89PNG\r\n\x1a\n")
	age(t, here)
	d := openDir(t, here, nil)
	server := httptest.NewServer(d.Handler(nil))
	defer server.Close()

	found := complete(t, d)
	if len(found) < len(awkwardNames) {
		t.Errorf("found %d", len(found))
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, r := range found {
		live := server.URL + strings.TrimPrefix(r.URI, "https://example.org")
		got, body := do(t, client, http.MethodGet, live)
		if sum := fmt.Sprintf("%x", sha256.Sum256(body)); got.StatusCode != http.StatusOK || sum != r.Hashes[0].Digest {
			t.Errorf("GET %s: %s, %d bytes", r.URI, got.Status, len(body))
		}
		checkHeader(t, got, r)
		got, body = do(t, client, http.MethodHead, live)
		if got.StatusCode != http.StatusOK || len(body) > 0 {
			t.Errorf("HEAD %s: %s, %d bytes", r.URI, got.Status, len(body))
		}
		checkHeader(t, got, r)
		u, err := url.Parse(r.URI)
		must(t, err)
		if !d.Covers(u) || !d.Covers(&url.URL{Path: u.Path, RawPath: u.RawPath}) {
			t.Errorf("%s is not covered", r.URI)
		}
		opened, err := d.Open(t.Context(), r)
		must(t, err)
		sum := sha256.New()
		if _, err := io.Copy(sum, opened); err != nil || fmt.Sprintf("%x", sum.Sum(nil)) != r.Hashes[0].Digest {
			t.Errorf("opening %q: other bytes, %v", r.Key, err)
		}
		opened.Close()
	}
}

func do(t *testing.T, client *http.Client, method, uri string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, uri, nil)
	must(t, err)
	got, err := client.Do(r)
	must(t, err)
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	must(t, err)
	return got, body
}

// withUTF8 returns the Content-Type of a text in UTF-8.
func withUTF8(mediaType string) string {
	if strings.HasPrefix(mediaType, "text/") {
		return mediaType + "; charset=utf-8"
	}
	return mediaType
}

// checkHeader checks that a response has the same metadata of r as a list.
func checkHeader(t *testing.T, got *http.Response, r resourcesync.Resource) {
	t.Helper()
	length, _ := r.Length.Bytes()
	if got.ContentLength != length {
		t.Errorf("%s: Content-Length %d, want %d", r.URI, got.ContentLength, length)
	}
	for name, want := range map[string]string{
		"Content-Type":           withUTF8(r.Type),
		"Last-Modified":          r.LastModified.Format(http.TimeFormat),
		"X-Content-Type-Options": "nosniff",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %s %q, want %q", r.URI, name, value, want)
		}
	}
}

func TestConditionalAndRange(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a.txt", "0123456789")
	age(t, here)
	d := openDir(t, here, nil)
	plain := serve(d, http.MethodGet, base+"a.txt", nil)
	tag, modified := plain.Header().Get("Etag"), plain.Header().Get("Last-Modified")
	if len(tag) < 10 || strings.HasPrefix(tag, "W/") {
		t.Fatalf("ETag %s", tag)
	}
	for name, test := range map[string]struct {
		header http.Header
		status int
		body   string
	}{
		"tag":           {http.Header{"If-None-Match": {tag}}, http.StatusNotModified, ""},
		"other tag":     {http.Header{"If-None-Match": {`"x"`}}, http.StatusOK, "0123456789"},
		"since":         {http.Header{"If-Modified-Since": {modified}}, http.StatusNotModified, ""},
		"range":         {http.Header{"Range": {"bytes=2-4"}}, http.StatusPartialContent, "234"},
		"range if":      {http.Header{"Range": {"bytes=2-4"}, "If-Range": {tag}}, http.StatusPartialContent, "234"},
		"range if not":  {http.Header{"Range": {"bytes=2-4"}, "If-Range": {`"x"`}}, http.StatusOK, "0123456789"},
		"range if date": {http.Header{"Range": {"bytes=2-4"}, "If-Range": {modified}}, http.StatusOK, "0123456789"},
		"no range":      {http.Header{"Range": {"bytes=20-"}}, http.StatusRequestedRangeNotSatisfiable, "invalid range: failed to overlap\n"},
		"many ranges":   {http.Header{"Range": {"bytes=" + strings.Repeat("0-0,", 16) + "1-1"}}, http.StatusOK, "0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(d, http.MethodGet, base+"a.txt", test.header)
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, test.status, test.body)
			}
		})
	}
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(here, "a.txt"), later, later))
	if w := serve(d, http.MethodGet, base+"a.txt", http.Header{"If-None-Match": {tag}}); w.Code != http.StatusOK {
		t.Errorf("%d for an old tag", w.Code)
	}
}

// TestCharset: a browser shows umlauts, for each way in which a text can state its
// charset.
func TestCharset(t *testing.T) {
	const umlauts, latin1 = "Größe", "Gr\xf6\xdfe"
	long, most := strings.Repeat("x", textAtOnce), strings.Repeat("x", textLen)
	here := t.TempDir()
	d := openDir(t, here, nil)
	for _, test := range []struct{ name, text, want string }{
		{"a.txt", umlauts, "text/plain; charset=utf-8"},
		{"a.txt", "ASCII", "text/plain; charset=utf-8"},
		{"a.txt", "", "text/plain; charset=utf-8"},
		{"a.txt", long + umlauts, "text/plain; charset=utf-8"},
		{"a.txt", long[1:] + "ö", "text/plain; charset=utf-8"}, // cut in two
		{"a.txt", long[2:] + "€", "text/plain; charset=utf-8"},
		{"a.txt", latin1, "text/plain"},
		{"a.txt", long[1:] + "\xe4", "text/plain"}, // like the beginning of a character
		{"a.txt", long[2:] + "\xff", "text/plain"},
		{"a.txt", long + latin1, "text/plain"},
		{"a.txt", most[len(latin1):] + latin1, "text/plain"},
		{"a.txt", most[len(umlauts):] + umlauts, "text/plain; charset=utf-8"},
		{"a.txt", most[1:], "text/plain; charset=utf-8"},
		{"a.txt", most + umlauts, "text/plain"}, // not read so far
		{"a.txt", "G\x00r\x00", "text/plain"},   // UTF-16 without a mark
		{"a.csv", "name\n" + long + latin1, "text/csv"},
		{"a.html", "<title>" + long + latin1, "text/html"},
		{"a.txt", "\xff\xfeG\x00", "text/plain"}, // UTF-16
		{"README", umlauts, "text/plain; charset=utf-8"},
		{"a.html", "<title>" + umlauts, "text/html; charset=utf-8"},
		{"a.html", "<META Charset=iso-8859-1>", "text/html"},
		{"a.css", `@charset "iso-8859-1"; a {}`, "text/css"},
		{"a.xml", umlauts, "application/xml"},
		{"a.json", `"` + umlauts + `"`, "application/json"},
	} {
		write(t, here, test.name, test.text)
		for _, r := range []struct {
			method string
			header http.Header
		}{{http.MethodHead, nil}, {http.MethodGet, http.Header{"Range": {"bytes=0-0"}}}} {
			if got := serve(d, r.method, base+test.name, r.header); test.text != "" && got.Header().Get("Content-Type") != test.want {
				t.Errorf("%s %.20q, %s %v: %d, Content-Type %q, want %q", test.name, test.text, r.method, r.header, got.Code, got.Header().Get("Content-Type"), test.want)
			}
		}
		if got := serve(d, http.MethodGet, base+test.name, nil); got.Code != 200 || got.Header().Get("Content-Type") != test.want || got.Body.String() != test.text {
			t.Errorf("%s %.20q: %d, Content-Type %q, want %q", test.name, test.text, got.Code, got.Header().Get("Content-Type"), test.want)
		}
	}
}

// TestStripPrefix: a handler that gets paths without their beginning logs it once, with a
// remedy.
func TestStripPrefix(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a b.txt", "text")
	for name, test := range map[string]struct {
		base     string
		stripped bool
		path     string
		lines    int
	}{
		"stripped":             {base, true, "/files/a%20b.txt", 1},
		"an encoded base":      {"https://example.org/my%20files/", true, "/my%20files/a%20b.txt", 1},
		"no file":              {base, true, "/files/none.txt", 0},
		"mounted as it is":     {base, false, "/files/a%20b.txt", 0},
		"a path elsewhere":     {base, false, "/a%20b.txt", 0},
		"at the root, no file": {"https://example.org/", false, "/none", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log logbook
			d, err := Open(here, test.base, &Options{Logger: log.logger()})
			must(t, err)
			defer d.Close()
			h := d.Handler(nil)
			if test.stripped {
				h = http.StripPrefix(strings.TrimSuffix(d.basePath, "/"), h)
			}
			for range 2 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, test.path, nil))
			}
			if n := log.lines("without http.StripPrefix"); n != test.lines || n != log.lines("msg=") {
				t.Errorf("%d lines, want %d:\n%s", n, test.lines, &log.buf)
			}
		})
	}
}

// TestD20_SameSecond rewrites a file within a second of its last modification. A client
// that knows the earlier version by its date must get the complete new one.
func TestD20_SameSecond(t *testing.T) {
	here := t.TempDir()
	path := filepath.Join(here, "a.txt")
	for name, test := range map[string]struct {
		age    time.Duration // of the earlier version, when it was obtained
		header string
	}{
		"since, at once":              {0, "If-Modified-Since"},
		"range, at once":              {0, "If-Range"},
		"range, with an earlier time": {time.Hour, "If-Range"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, here, "a.txt", "earlier version")
			modified := time.Now().Add(-test.age).Truncate(time.Second)
			must(t, os.Chtimes(path, modified, modified))
			d := openDir(t, here, nil)
			if w := serve(d, http.MethodGet, base+"a.txt", nil); (w.Header().Get("Last-Modified") != "") != (test.age > 2*time.Second) {
				t.Errorf("the earlier version has %v", w.Header())
			}
			write(t, here, "a.txt", "the new one is longer")
			modified = modified.Add(time.Second / 2)
			must(t, os.Chtimes(path, modified, modified))
			w := serve(d, http.MethodGet, base+"a.txt", http.Header{test.header: {modified.UTC().Format(http.TimeFormat)}, "Range": {"bytes=10-"}})
			want := "the new one is longer"
			if test.header == "If-Modified-Since" {
				want = want[10:]
			}
			if w.Body.String() != want {
				t.Errorf("%d %q", w.Code, w.Body)
			}
		})
	}
}

// TestD20_Resumed: an entity tag identifies a version, so a range can be resumed with
// it.
func TestD20_Resumed(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a.txt", "0123456789")
	d := openDir(t, here, nil)
	tag := serve(d, http.MethodGet, base+"a.txt", nil).Header().Get("Etag")
	condition := http.Header{"If-Range": {tag}, "Range": {"bytes=5-"}}
	if w := serve(d, http.MethodGet, base+"a.txt", condition); w.Code != http.StatusPartialContent || w.Body.String() != "56789" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	write(t, here, "a.txt", "9876543210x")
	if w := serve(d, http.MethodGet, base+"a.txt", condition); w.Code != http.StatusOK || w.Body.String() != "9876543210x" {
		t.Errorf("rewritten: %d %q", w.Code, w.Body)
	}
}

func TestMethods(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "")
	d := openDir(t, here, nil)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"} {
		w := serve(d, method, base+"a", nil)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// attacks are targets of requests below the base path that must find nothing.
var attacks = []string{
	"", "/", "sub", "sub/", "sub//file", "./file", "sub/./file", "sub/../file", "../secret", "../../secret",
	"sub/../../secret", "%2e%2e/secret", "%2e%2e%2fsecret", "..%2fsecret", "..%2Fsecret", "sub%2ffile", "sub%2Ffile", "%2ffile",
	`..\secret`, "..%5csecret", "sub%5cfile", "file%00", "file%00.txt", "%00", "file/", "file/.", "file/x", "//file",
	".hidden", "%2ehidden", ".git/config", "sub/.hidden", "excluded/file", "%65xcluded/file", "..%00/secret", "file%20",
	"%252e%252e/secret", "..;/secret", "sub/..%2f..%2fsecret", "....//secret", "~/secret", "file::$DATA",
	strings.Repeat("x", 300), strings.Repeat("x/", 600) + "x", strings.Repeat("x", 5000), "%ff", "None",
}

// openTarget makes a folder with secrets in it and around it.
func openTarget(t testing.TB) *Dir {
	top := t.TempDir()
	write(t, top, "secret", "secret")
	for _, key := range []string{".hidden", ".git/config", "sub/.hidden", "excluded/file"} {
		write(t, top, "root/"+key, "secret")
	}
	write(t, top, "root/file", "public")
	write(t, top, "root/sub/file", "public")
	return openDir(t, filepath.Join(top, "root"), &Options{
		Exclude: func(path string, isDir bool) bool { return path == "excluded" },
	})
}

func TestAttacks(t *testing.T) {
	d := openTarget(t)
	for _, target := range attacks {
		checkTarget(t, d, "/files/"+target, http.StatusNotFound)
	}
	for _, target := range []string{"/", "/file", "/files", "/filesfile", "/FILES/file", "/files%2ffile", "/files%2Ffile"} {
		checkTarget(t, d, target, http.StatusNotFound)
	}
	checkTarget(t, d, "/files/sub/file", http.StatusOK)
	checkTarget(t, d, "/files/%73ub/file?x=../secret", http.StatusOK)
}

// TestAttacksWithDotFiles allows dot files, so no rule about dots stops attacks.
func TestAttacksWithDotFiles(t *testing.T) {
	top := t.TempDir()
	write(t, top, "secret", "secret")
	write(t, top, "root/file", "public")
	write(t, top, "root/sub/file", "public")
	d := openDir(t, filepath.Join(top, "root"), &Options{DotFiles: true})
	for _, target := range attacks {
		checkTarget(t, d, "/files/"+target, http.StatusNotFound)
	}
	checkTarget(t, d, "/files/sub/file", http.StatusOK)
}

// checkTarget requests target exactly as written on a request line.
func checkTarget(t *testing.T, d *Dir, target string, want int) {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return
	}
	w := httptest.NewRecorder()
	d.Handler(nil).ServeHTTP(w, (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}).WithContext(t.Context()))
	if w.Code != want {
		t.Errorf("%s: status %d, want %d", target, w.Code, want)
	}
	if bytes.Contains(w.Body.Bytes(), []byte("secret")) {
		t.Errorf("%s: %s", target, w.Body)
	}
	if covered := d.Covers(u); covered != (want == http.StatusOK && u.RawQuery == "") {
		t.Errorf("%s: covered is %t", target, covered)
	}
}

func FuzzHandler(f *testing.F) {
	for _, target := range attacks {
		f.Add("/files/" + target)
	}
	f.Add("/files/sub/file")
	d := openTarget(f)
	listed := map[string]bool{"file": true, "sub/file": true}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		want := http.StatusNotFound
		if key, ok := strings.CutPrefix(u.Path, "/files/"); ok && listed[key] && !hasEncodedSlash(u) {
			want = http.StatusOK
		}
		checkTarget(t, d, target, want)
	})
}

func TestServerErrorTellsNothing(t *testing.T) {
	var log logbook
	here := t.TempDir()
	write(t, here, "a", "")
	d := openDir(t, here, &Options{Logger: log.logger()})
	d.Close()
	w := serve(d, http.MethodGet, base+"a", nil)
	if w.Code != http.StatusInternalServerError || w.Body.String() != "internal server error\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if log.lines("closed") != 1 {
		t.Errorf("log: %s", &log.buf)
	}
}

func TestOpenedFiles(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "0123456789")
	d := openDir(t, here, nil)
	r := complete(t, d)["a"]
	f, err := d.Open(t.Context(), r)
	must(t, err)
	defer f.Close()
	var b [2]byte
	if _, err := f.(io.ReaderAt).ReadAt(b[:], 8); err != nil || string(b[:]) != "89" {
		t.Errorf("ReadAt: %q, %v", b, err)
	}
	if n, err := f.(io.Seeker).Seek(0, io.SeekEnd); n != 10 || err != nil {
		t.Errorf("Seek: %d, %v", n, err)
	}
}
