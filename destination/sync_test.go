package destination_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestSync follows a Source through its life: baseline, nothing new, changes, deletions.
func TestSync(t *testing.T) {
	for _, pageSize := range []int{0, 10} {
		t.Run(fmt.Sprint("page size ", pageSize), func(t *testing.T) {
			src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: pageSize}})
			for i := range 57 {
				src.put(t, fmt.Sprintf("a/%d.txt", i), fmt.Sprint("content ", i))
			}
			src.put(t, "empty", "")
			src.put(t, "large", strings.Repeat("0123456789", 100_000))
			m := openMirror(t, src.URL, t.TempDir(), nil)
			if r := m.sync(t); r.Created != 59 || r.Updated+r.Deleted+r.Failed+r.Deviations != 0 || r.Resources != 59 {
				t.Errorf("the baseline reports %+v", r)
			}
			src.same(t, m.dir)

			src.requested("/")
			if r := m.sync(t); r.Created+r.Updated+r.Deleted+r.Received != 0 {
				t.Errorf("without changes: %+v", r)
			}
			if n := src.requested("/a/") + src.requested("/resourcesync/resourcelist"); n > 0 {
				t.Errorf("without changes, %d requests for resources and Resource Lists", n)
			}

			for i := range 20 {
				src.put(t, fmt.Sprintf("a/%d.txt", i), "changed")
				src.put(t, fmt.Sprintf("b/%d.txt", i), "new")
				src.remove(fmt.Sprintf("a/%d.txt", 30+i))
			}
			src.put(t, "empty", "no more")
			src.put(t, "b/0.txt", "twice")
			if r := m.sync(t); r.Created != 20 || r.Updated != 21 || r.Deleted != 20 || r.Failed != 0 {
				t.Errorf("changes: %+v", r)
			}
			src.same(t, m.dir)
			if n := src.requested("/resourcesync/resourcelist"); n > 0 {
				t.Errorf("%d requests for Resource Lists after the baseline", n)
			}
			m.close()

			// Another process continues.
			src.remove("a/0.txt")
			m = openMirror(t, src.URL, m.dir, nil)
			if r := m.sync(t); r.Deleted != 1 || r.Created+r.Updated != 0 {
				t.Errorf("after a restart: %+v", r)
			}
			src.same(t, m.dir)
		})
	}
}

// TestSyncGap has a Change List that begins after the last synchronization.
func TestSyncGap(t *testing.T) {
	first := newSource(t, nil)
	for i := range 20 {
		first.put(t, fmt.Sprint(i), "a")
	}
	m := openMirror(t, first.URL, t.TempDir(), nil)
	m.sync(t)

	// The Source comes back with the same address and without its journal.
	second := newSource(t, nil)
	first.on(func(w http.ResponseWriter, r *http.Request) bool {
		r.Host = second.Listener.Addr().String()
		second.Config.Handler.ServeHTTP(&rewriter{ResponseWriter: w, old: second.URL, new: first.URL}, withoutCoding(r))
		return true
	})
	for i := range 20 {
		if i != 3 {
			second.put(t, fmt.Sprint(i), strings.Repeat("b", i%2+1))
		}
	}
	if r := m.sync(t); r.Updated != 19 || r.Deleted != 1 || r.Failed != 0 {
		t.Errorf("after a gap: %+v", r)
	}
	second.same(t, m.dir)
}

// A rewriter replaces URLs in documents.
type rewriter struct {
	http.ResponseWriter
	old, new string
}

func (w *rewriter) Write(p []byte) (int, error) {
	w.Header().Del("Content-Length")
	_, err := w.ResponseWriter.Write([]byte(strings.ReplaceAll(string(p), w.old, w.new)))
	return len(p), err
}

func (w *rewriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func withoutCoding(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Accept-Encoding")
	return r
}

// TestGuard holds the deletions of a list that is suddenly empty.
func TestGuard(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<url><loc>/%d</loc></url>", i)
		}
		return `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + b.String() + `</urlset>`
	}
	var n atomic.Int64
	n.Store(10)
	src := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sitemap.xml" {
			fmt.Fprint(w, list(int(n.Load())))
			return
		}
		fmt.Fprint(w, r.URL.Path)
	})
	m := openMirror(t, src.URL+"/sitemap.xml", t.TempDir(), nil)
	m.sync(t)
	for _, test := range []struct{ listed, deleted, held, left int }{
		{9, 1, 0, 9}, {0, 0, 9, 9}, {0, 0, 9, 9}, {4, 0, 5, 9}, {8, 1, 0, 8},
	} {
		n.Store(int64(test.listed))
		r := m.sync(t)
		if r.Deleted != int64(test.deleted) || r.Held != int64(test.held) || len(files(t, m.dir)) != test.left {
			t.Errorf("%d listed: %+v and %d files, want %+v", test.listed, r, len(files(t, m.dir)), test)
		}
		m.lists(t, int64(test.left), r.Held)
	}
	n.Store(6)
	m.sync(t)
	if r, err := m.DeleteHeld(t.Context()); err != nil || r.Deleted != 2 || r.Held != 0 {
		t.Errorf("DeleteHeld: %+v, %v", r, err)
	}
	m.lists(t, 6, 0)
	n.Store(0)
	m.close()
	m = openMirror(t, src.URL+"/sitemap.xml", m.dir, &destination.Options{MaxDelete: 1})
	if r := m.sync(t); r.Deleted != 6 || len(files(t, m.dir)) != 0 {
		t.Errorf("with MaxDelete 1: %+v", r)
	}
}

// TestFaults has a Source that fails, and then recovers.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"status 404": func(w http.ResponseWriter, r *http.Request) bool {
			http.NotFound(w, r)
			return true
		},
		"wrong content": func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, "anything")
			return true
		},
		"content of the same length": func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, "content X")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t, nil)
			for i := range 9 {
				src.put(t, fmt.Sprint("f", i), fmt.Sprint("content ", i))
			}
			src.on(func(w http.ResponseWriter, r *http.Request) bool { return r.URL.Path == "/f3" && fault(w, r) })
			m := openMirror(t, src.URL, t.TempDir(), nil)
			r := m.sync(t)
			if r.Created != 8 || r.Failed != 1 || len(r.Failures) != 1 || r.Failures[0].URI != src.URL+"/f3" {
				t.Errorf("%+v", r)
			}
			if _, ok := files(t, m.dir)["f3"]; ok {
				t.Error("there is a copy of a failed resource")
			}
			src.on(nil)
			if r := m.sync(t); r.Created != 1 || r.Failed != 0 {
				t.Errorf("after the fault: %+v", r)
			}
			src.same(t, m.dir)
		})
	}
}

// TestTruncated has transfers that break again and again: of resources, which are
// resumed, and of lists, which are read again.
func TestTruncated(t *testing.T) {
	t.Parallel()
	src := newSource(t, nil)
	large := strings.Repeat("abcdefghij", 300_000)
	src.put(t, "large", large)
	src.put(t, "small", "content")
	var ranges, lists, breaks atomic.Int64
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" {
			ranges.Add(1)
		}
		switch {
		case r.URL.Path == "/large" && breaks.Add(1) <= 2:
			src.content(&truncated{ResponseWriter: w, left: 1_000_000}, r)
			panic(http.ErrAbortHandler)
		case strings.HasSuffix(r.URL.Path, "/resourcelist.xml") && r.Header.Get("If-None-Match") == "" && lists.Add(1) == 1:
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return false
	})
	m := openMirror(t, src.URL, t.TempDir(), nil)
	if r := m.sync(t); r.Created != 2 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	src.same(t, m.dir)
	if ranges.Load() != 2 || lists.Load() != 2 {
		t.Errorf("%d ranges and %d requests for the list, want 2 each", ranges.Load(), lists.Load())
	}
}

// truncated writes the beginning of a response.
type truncated struct {
	http.ResponseWriter
	left int
}

func (w *truncated) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	w.left -= n
	if err == nil && n < len(p) {
		err = http.ErrAbortHandler
		http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

// TestLimits has limits of disk space.
func TestLimits(t *testing.T) {
	src := newSource(t, nil)
	src.put(t, "a", strings.Repeat("a", 1000))
	src.put(t, "b", strings.Repeat("b", 2000))
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{MaxResource: 1500})
	if r := m.sync(t); r.Created != 1 || r.Failed != 1 || !strings.Contains(r.Failures[0].Error, "limit") {
		t.Errorf("%+v", r)
	}
	m = openMirror(t, src.URL, t.TempDir(), &destination.Options{MaxBytes: 2500})
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "2500") {
		t.Errorf("beyond MaxBytes: %v", err)
	}
}

// TestInternal has a Source that lists resources at internal addresses.
func TestInternal(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secret") })
	src := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/own</loc></url><url><loc>%s/x</loc></url><url><loc>/moved</loc></url><url><loc>http://169.254.169.254/latest</loc></url></urlset>`, other.URL)
		case "/moved":
			http.Redirect(w, r, other.URL+"/y", http.StatusFound)
		default:
			fmt.Fprint(w, "own")
		}
	})
	m := openMirror(t, src.URL+"/sitemap.xml", t.TempDir(), nil)
	r := m.sync(t)
	if r.Created != 1 || r.Failed != 3 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Failures {
		if !strings.Contains(f.Error, "not public") {
			t.Errorf("%+v", f)
		}
	}
}

// TestRobots obeys robots.txt, unless it is told to ignore it.
func TestRobots(t *testing.T) {
	src := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\nSitemap: /sitemap.xml\n")
		case "/sitemap.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/public</loc></url><url><loc>/private/a?b</loc></url></urlset>`)
		case "/public", "/private/a":
			fmt.Fprint(w, "text")
		default:
			http.NotFound(w, r)
		}
	})
	m := openMirror(t, src.URL, t.TempDir(), nil)
	if r := m.sync(t); r.Created != 1 || r.Failed != 1 || !strings.Contains(r.Failures[0].Error, "robots.txt") || strings.Count(r.Failures[0].Error, r.Failures[0].URI) != 1 {
		t.Errorf("%+v", r)
	}
	m.close()
	m = openMirror(t, src.URL, m.dir, &destination.Options{IgnoreRobots: true})
	if r := m.sync(t); r.Created != 1 || r.Failed != 0 {
		t.Errorf("ignoring it: %+v", r)
	}
}

// TestRetryAfter waits as long as the Source asks for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	src := newSource(t, nil)
	src.put(t, "a", "text")
	var asked atomic.Bool
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/a" || asked.Swap(true) {
			return false
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	m := openMirror(t, src.URL, t.TempDir(), nil)
	begun := time.Now()
	if r := m.sync(t); r.Created != 1 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	if time.Since(begun) < time.Second {
		t.Error("did not wait")
	}
}

// TestPaths has URIs whose copies would collide, or leave the folder.
func TestPaths(t *testing.T) {
	uris := []string{"/a", "/A", "/a/b", "/x/y", "/x", "/%2e%2e/%2e%2e/etc", "/con.txt", "/q?x=1", "/q?x=2", "/.resourcesync/state.db", "/" + strings.Repeat("n", 300), "/a%20b", "/trailing./", "/trailing."}
	src := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sitemap.xml" {
			fmt.Fprint(w, r.RequestURI)
			return
		}
		fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, uri := range uris {
			fmt.Fprintf(w, "<url><loc>%s</loc></url>", "http://"+r.Host+uri)
		}
		fmt.Fprint(w, `</urlset>`)
	})
	parent := t.TempDir()
	m := openMirror(t, src.URL+"/sitemap.xml", filepath.Join(parent, "copy"), nil)
	if r := m.sync(t); r.Created != int64(len(uris)) {
		t.Errorf("%+v", r)
	}
	got := map[string]bool{}
	for name, text := range files(t, m.dir) {
		got[text] = true
		if strings.Contains(name, "..") {
			t.Errorf("the name %s", name)
		}
	}
	for _, uri := range uris {
		if !got[uri] {
			t.Errorf("no copy of %s", uri)
		}
	}
	if names, _ := os.ReadDir(parent); len(names) != 1 {
		t.Errorf("files beside the copy: %v", names)
	}
}

// TestFolderOfOthers refuses to write into a folder with other files, a copy of another
// Source, and a copy that is in use.
func TestFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.doc"), []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := destination.OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "empty folder") {
		t.Errorf("a folder with files: %v", err)
	}
	m := openMirror(t, "HTTP://127.0.0.1:1", t.TempDir(), nil)
	if _, err := destination.New("http://127.0.0.1:1/", m.folder, nil); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a copy in use: %v", err)
	}
	m.Close()
	d, err := destination.New("http://127.0.0.1:1/", m.folder, nil)
	if err != nil {
		t.Fatalf("the same Source in another spelling: %v", err)
	}
	d.Close()
	if _, err := destination.New("http://127.0.0.1:2/", m.folder, nil); err == nil || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("a copy of another Source: %v", err)
	}
}

// TestDeadHost has more resources at a dead host, and more that always fail, than are tried
// at a time. They keep no others from being copied.
func TestDeadHost(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(nil)
	dead.Close()
	src := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/sitemap.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range 60 {
				fmt.Fprintf(w, "<url><loc>%s/%d</loc></url>", dead.URL, i)
			}
			for i := range 40 {
				fmt.Fprintf(w, "<url><loc>/broken/%d</loc></url>", i)
			}
			for i := range 60 {
				fmt.Fprintf(w, "<url><loc>/%d</loc></url>", i)
			}
			fmt.Fprint(w, `</urlset>`)
		case strings.HasPrefix(r.URL.Path, "/broken"):
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprint(w, r.URL.Path)
		}
	})
	m := openMirror(t, src.URL+"/sitemap.xml", t.TempDir(), &destination.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, IgnoreRobots: true, Concurrency: 20})
	if r := m.sync(t); r.Created != 60 || r.Failed != 100 || len(r.Failures) == 0 {
		t.Errorf("%+v", r)
	}
	if r := m.sync(t); r.Created != 0 || r.Updated != 0 && r.Updated != 60 || r.Failed != 100 {
		t.Errorf("again: %+v", r)
	}
}
