package destination_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// withoutChanges is fullSource without a Change List.
func withoutChanges(list string) map[string]string {
	pages := maps.Clone(fullSource)
	pages["/cl.xml"] = openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url></urlset>`
	pages["/rl.xml"] = list
	return pages
}

// TestOneConnection starts at a list, whose Capability List is on the same host.
func TestOneConnection(t *testing.T) {
	_, url := newScript(t, fullSource)
	m := openMirror(t, url+"/rl.xml", t.TempDir(), &destination.Options{Concurrency: 1})
	ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
	defer cancel()
	if r, err := m.Sync(ctx); err != nil || r.Created != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNewestFirst has an index whose parts have no times, with the newest part first.
func TestNewestFirst(t *testing.T) {
	s, url := newScript(t, fullSource)
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	part := func(day int, change, path string) string {
		return fmt.Sprintf(openURLSet+`<rs:md capability="changelist"/><url><loc>BASE/%s</loc><rs:md change="%s" datetime="2013-01-%02dT12:00:00Z"/></url></urlset>`, path, change, day)
	}
	s.set(map[string]string{
		"/chl.xml":  openIndex + `<rs:md capability="changelist"/><sitemap><loc>BASE/chl2.xml</loc></sitemap><sitemap><loc>BASE/chl1.xml</loc></sitemap></sitemapindex>`,
		"/chl1.xml": part(5, "deleted", "a"), "/chl2.xml": part(6, "created", "d"),
	})
	if r := m.sync(t); r.Created != 1 || r.Deleted != 1 {
		t.Errorf("%+v", r)
	}
}

// TestFuture has a change in the future, and one that happens now.
func TestFuture(t *testing.T) {
	s, url := newScript(t, fullSource)
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	changes := func(change string) string {
		return openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>` + change + `</urlset>`
	}
	s.set(map[string]string{"/chl.xml": changes(`<url><loc>BASE/d</loc><rs:md change="created" datetime="2150-01-01T00:00:00Z"/></url>`)})
	if r := m.sync(t); r.Created != 1 {
		t.Errorf("the change of the future: %+v", r)
	}
	now := time.Now().UTC().Add(2 * time.Second).Format(time.RFC3339)
	s.set(map[string]string{"/chl.xml": changes(`<url><loc>BASE/d</loc><rs:md change="deleted" datetime="` + now + `"/></url>`)})
	if r := m.sync(t); r.Deleted != 1 {
		t.Errorf("the change of today: %+v", r)
	}
}

// TestWrongClock has a Source whose clock was in the future, and is right again.
func TestWrongClock(t *testing.T) {
	future := "2150-01-01T00:00:00Z"
	pages := maps.Clone(fullSource)
	pages["/chl.xml"] = openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z" until="` + future + `"/></urlset>`
	s := &script{pages: pages}
	wrong := true
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if wrong {
			w.Header().Set("Date", "Thu, 01 Jan 2150 00:00:00 GMT")
		}
		s.ServeHTTP(w, r)
	})
	m := openMirror(t, site.URL, t.TempDir(), nil)
	m.sync(t)
	wrong = false
	now := time.Now().UTC().Add(2 * time.Second).Format(time.RFC3339)
	s.set(map[string]string{"/chl.xml": openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z"/><url><loc>BASE/a</loc><rs:md change="deleted" datetime="` + now + `"/></url></urlset>`})
	s.remove("/a")
	if r := m.sync(t); r.Deleted != 1 {
		t.Errorf("after the clock is right: %+v", r)
	}
}

// TestEndless has resources without an end.
func TestEndless(t *testing.T) {
	for name, test := range map[string]struct {
		md      string
		options destination.Options
		want    string
	}{
		"length":   {`<rs:md length="100"/>`, destination.Options{}, "its length"},
		"MaxBytes": {``, destination.Options{MaxBytes: 1_000_000}, "larger than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{pages: withoutChanges(openURLSet + `<rs:md capability="resourcelist"/><url><loc>BASE/endless</loc>` + test.md + `</url></urlset>`)}
			site := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/endless" {
					s.ServeHTTP(w, r)
					return
				}
				chunk := make([]byte, 64<<10)
				for range 2000 {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
				t.Error("125 MiB were read")
			})
			m := openMirror(t, site.URL, t.TempDir(), &test.options)
			if r := m.sync(t); r.Failed != 1 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Error, test.want) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestMoved has a resource that moves from the second list to the first, after that has been
// read.
func TestMoved(t *testing.T) {
	list := func(names ...string) string {
		text := openURLSet + `<rs:md capability="resourcelist"/>`
		for _, name := range names {
			text += `<url><loc>BASE/` + name + `</loc><lastmod>2013-01-02T13:00:00Z</lastmod></url>`
		}
		return text + `</urlset>`
	}
	pages := withoutChanges(openIndex + `<rs:md capability="resourcelist"/><sitemap><loc>BASE/1.xml</loc></sitemap><sitemap><loc>BASE/2.xml</loc></sitemap></sitemapindex>`)
	maps.Copy(pages, map[string]string{"/1.xml": list("a", "b"), "/2.xml": list("c", "d"), "/b": "b", "/c": "c"})
	s := &script{pages: pages}
	move := false
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		if move && r.URL.Path == "/1.xml" { // a was deleted
			s.set(map[string]string{"/1.xml": list("b", "c"), "/2.xml": list("d")})
		}
	})
	m := openMirror(t, site.URL, t.TempDir(), &destination.Options{MaxDelete: 1})
	m.sync(t)
	move = true
	m.sync(t)
	if _, ok := files(t, m.dir)["c"]; !ok {
		t.Error("c is listed and was deleted")
	}
	if r := m.sync(t); r.Resources != 3 {
		t.Errorf("%+v", r)
	}
}

// An unrecorded Sink stores changes, and fails as if the process ended then.
type unrecorded struct {
	stored string
	fail   bool
}

func (u *unrecorded) Put(_ context.Context, _ resourcesync.Change, content io.Reader) error {
	b, err := io.ReadAll(content)
	u.stored = string(b)
	return err
}
func (u *unrecorded) Delete(context.Context, resourcesync.Change) error { return nil }
func (u *unrecorded) Flush(context.Context) error {
	if u.fail {
		return io.ErrClosedPipe
	}
	return nil
}

// TestReverted has a version that is stored and not recorded, and that the Source takes back.
func TestReverted(t *testing.T) {
	list := func(digest string) string {
		return openURLSet + `<rs:md capability="resourcelist"/><url><loc>BASE/a</loc><rs:md hash="md5:` + digest + `" length="1"/></url></urlset>`
	}
	const a, b = "0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"
	s, url := newScript(t, withoutChanges(list(a)))
	sink := &unrecorded{}
	d, err := destination.New(url, sink, &destination.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	sink.fail = true
	s.set(map[string]string{"/rl.xml": list(b), "/a": "b"})
	if _, err := d.Sync(t.Context()); err == nil || sink.stored != "b" {
		t.Fatalf("%v, %q", err, sink.stored)
	}
	sink.fail = false
	s.set(map[string]string{"/rl.xml": list(a), "/a": "a"})
	if _, err := d.Sync(t.Context()); err != nil || sink.stored != "a" {
		t.Errorf("%v, the Sink has %q", err, sink.stored)
	}
}

// TestFull has a Sync that cannot continue: its results until then are recorded and counted.
func TestFull(t *testing.T) {
	src := newSource(t, nil)
	for i := range 3 {
		src.put(t, fmt.Sprint(i), strings.Repeat("x", 100))
	}
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{MaxBytes: 250})
	for run, created := range []int64{2, 0} {
		r, err := m.Sync(t.Context())
		if err == nil || r.Created != created || r.Resources != 2 || r.Bytes != 200 || len(files(t, m.dir)) != 2 {
			t.Errorf("run %d: %+v, %v", run, r, err)
		}
	}
}

// TestNotStored has a Sink that cannot store: nothing is counted.
func TestNotStored(t *testing.T) {
	_, url := newScript(t, fullSource)
	d, err := destination.New(url, &unrecorded{fail: true}, &destination.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if r, err := d.Sync(t.Context()); err == nil || r.Created+r.Received+r.Resources != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOldList has a gap in the Change List, and a Resource List from before a resource was
// created. It does not delete that resource.
func TestOldList(t *testing.T) {
	s, url := newScript(t, fullSource)
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	changes := `<rs:md capability="changelist" from="2013-01-%sT00:00:00Z"/>`
	s.set(map[string]string{"/chl.xml": openURLSet + fmt.Sprintf(changes, "03") + `<url><loc>BASE/d</loc><rs:md change="created" datetime="2013-01-05T00:00:00Z"/></url></urlset>`})
	m.sync(t)
	s.set(map[string]string{"/chl.xml": openURLSet + fmt.Sprintf(changes, "10") + `</urlset>`})
	if r := m.sync(t); r.Deleted != 0 || r.Resources != 3 {
		t.Errorf("after the gap: %+v", r)
	}
	list := strings.Replace(fullSource["/rl.xml"], "2013-01-03 09", "2013-01-11 09", 1)
	s.set(map[string]string{"/rl.xml": list, "/chl.xml": openURLSet + fmt.Sprintf(changes, "12") + `</urlset>`})
	if r := m.sync(t); r.Deleted != 1 || r.Resources != 2 {
		t.Errorf("after a newer list: %+v", r)
	}
}

// TestLeftPartial has a transfer that breaks, of a resource that is later no longer listed,
// and a resource that always fails.
func TestLeftPartial(t *testing.T) {
	t.Parallel()
	list := func(entries string) string {
		return openURLSet + `<rs:md capability="resourcelist"/><url><loc>BASE/missing</loc></url>` + entries + `</urlset>`
	}
	large := strings.Repeat("abcdefghij", 100_000)
	s := &script{pages: withoutChanges(list(fmt.Sprintf(`<url><loc>BASE/large</loc><rs:md hash="sha-256:%x"/></url>`, sha256.Sum256([]byte(large)))))}
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" || r.Header.Get("Range") != "" {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		io.WriteString(&truncated{ResponseWriter: w, left: 600_000}, large)
		panic(http.ErrAbortHandler)
	})
	m := openMirror(t, site.URL, t.TempDir(), nil)
	partial := func() int {
		entries, err := os.ReadDir(filepath.Join(m.dir, ".resourcesync", "partial"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if r := m.sync(t); r.Failed != 2 || partial() != 2 {
		t.Errorf("%d files are left to be resumed, want one with its validator: %+v", partial(), r)
	}
	s.set(map[string]string{"/rl.xml": list("")})
	if r := m.sync(t); r.Failed != 1 || partial() != 0 {
		t.Errorf("%d files are left, and nothing can be resumed: %+v", partial(), r)
	}
}

// TestLongIndex has an index whose URLs are so long that a limit of their number alone
// does not bound its size.
func TestLongIndex(t *testing.T) {
	needs.Time(t)
	s := &script{pages: withoutChanges("")}
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rl.xml" {
			s.ServeHTTP(w, r)
			return
		}
		fmt.Fprint(w, openIndex+`<rs:md capability="resourcelist"/>`)
		long := strings.Repeat("a", 1_000_000)
		for i := range 40 {
			fmt.Fprintf(w, "<sitemap><loc>http://%s/%d/%s</loc></sitemap>", r.Host, i, long)
		}
		fmt.Fprint(w, "</sitemapindex>")
	})
	m := openMirror(t, site.URL, t.TempDir(), nil)
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "bytes of URLs") {
		t.Errorf("%v", err)
	}
}

// TestNotModified has a server that answers 304 to requests without a condition.
func TestNotModified(t *testing.T) {
	for _, path := range []string{"/cl.xml", "/rl.xml", "/chl.xml", "/dump.xml", "/a"} {
		t.Run(path, func(t *testing.T) {
			pages := maps.Clone(fullSource)
			pages["/cl.xml"] = strings.Replace(pages["/cl.xml"], "</urlset>", `<url><loc>BASE/dump.xml</loc><rs:md capability="resourcedump"/></url></urlset>`, 1)
			s := &script{pages: pages}
			site := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == path {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				s.ServeHTTP(w, r)
			})
			m := openMirror(t, site.URL, t.TempDir(), &destination.Options{Dumps: destination.DumpsAlways})
			r, err := m.Sync(t.Context())
			if err == nil && r.Failed+r.Unused == 0 {
				t.Errorf("no failure: %+v", r)
			}
			if _, err := m.Audit(t.Context()); (path == "/cl.xml" || path == "/rl.xml" || path == "/chl.xml") != (err != nil) {
				t.Errorf("Audit: %v", err)
			}
			if got := files(t, m.dir); path == "/a" && !maps.Equal(got, map[string]string{"b c": "b"}) {
				t.Errorf("the copy has %v", got)
			}
		})
	}
}
