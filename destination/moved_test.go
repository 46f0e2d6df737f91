package destination_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// movedMirror opens a copy whose Source has moved.
func movedMirror(t *testing.T, url, dir string) *mirror {
	t.Helper()
	return openMirror(t, url, dir, &destination.Options{Moved: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

// TestSourceMoves continues a copy at other URLs of its Source: another host, another path, and other
// documents for the same resources. Only what has changed meanwhile is requested.
func TestSourceMoves(t *testing.T) {
	list := func(base string, later bool, names ...string) string {
		text := openURLSet + `<rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>`
		for _, name := range names {
			day := 1
			if name == "changed" && later || name == "new" {
				day = 2
			}
			text += fmt.Sprintf(`<url><loc>%s/%s</loc><lastmod>2013-01-%02dT13:00:00Z</lastmod><rs:md length="%d"/></url>`, base, name, day, len(name))
		}
		return text + `</urlset>`
	}
	capabilities := func(at string) string {
		return openURLSet + `<rs:md capability="capabilitylist"/><url><loc>` + at + `</loc><rs:md capability="resourcelist"/></url></urlset>`
	}
	for name, test := range map[string]struct{ document, base string }{
		"host":           {"/cl.xml", "BASE"},
		"host and path":  {"/repository/cl.xml", "BASE/repository"},
		"document alone": {"/other/capabilities.xml", "FORMER"},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{"/cl.xml": capabilities("BASE/rl.xml"), "/rl.xml": list("BASE", false, "a", "b", "changed", "unlisted")}
			var mu sync.Mutex
			requests := map[string]int{}
			var former string
			content := func(w http.ResponseWriter, r *http.Request, pages map[string]string) {
				text, ok := pages[r.URL.Path]
				if !ok && r.URL.Path != "/robots.txt" {
					mu.Lock()
					requests[r.URL.Path]++
					mu.Unlock()
					text = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
				}
				fmt.Fprint(w, strings.NewReplacer("BASE", "http://"+r.Host, "FORMER", former).Replace(text))
			}
			was := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { content(w, r, pages) }))
			defer was.Close()
			former = was.URL
			dir := t.TempDir()
			m := openMirror(t, was.URL+"/cl.xml", dir, nil)
			if r := m.sync(t); r.Created != 4 {
				t.Fatalf("%+v", r)
			}
			m.close()
			before := files(t, dir)
			if test.base != "FORMER" {
				was.Close()
			}
			folder := strings.TrimPrefix(test.base, "BASE")
			if test.base == "FORMER" {
				folder = ""
			}
			moved := map[string]string{
				test.document:            capabilities("BASE" + folder + "/new-list.xml"),
				folder + "/new-list.xml": list(test.base, true, "a", "b", "changed", "new"),
			}
			now := serve(t, func(w http.ResponseWriter, r *http.Request) { content(w, r, moved) })
			mu.Lock()
			clear(requests)
			mu.Unlock()

			f, err := destination.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := destination.New(now.URL+test.document, f, nil); err == nil || !strings.Contains(err.Error(), "--moved") {
				t.Errorf("without Moved: %v", err)
			}
			f.Close()
			m = openMirror(t, now.URL+test.document, dir, &destination.Options{Moved: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			r := m.sync(t)
			want := int64(3)
			if test.base == "FORMER" {
				want = 0
			}
			if r.Moved != was.URL+"/cl.xml" || r.Renamed != want || r.Created != 1 || r.Updated != 1 || r.Deleted != 1 || r.Failed != 0 {
				t.Errorf("%+v", r)
			}
			mu.Lock()
			if len(requests) != 2 || requests[folder+"/changed"] != 1 && requests["/changed"] != 1 {
				t.Errorf("requests: %v", requests)
			}
			mu.Unlock()
			before["new"] = "new"
			delete(before, "unlisted")
			got := files(t, dir)
			if test.base != "BASE" { // its URI determines its path
				for path, text := range got {
					if text == "new" {
						delete(got, path)
						got["new"] = "new"
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(before) {
				t.Errorf("got %v, want %v", got, before)
			}
			if r := m.sync(t); r.Moved != "" || r.Renamed+r.Created+r.Updated+r.Deleted+r.Held > 0 || len(r.Gone) > 0 || r.Resources != 4 {
				t.Errorf("again: %+v", r)
			}
		})
	}
}

// TestOtherSource: a Source that lists other resources is refused, and the copy still belongs to
// the first one.
func TestOtherSource(t *testing.T) {
	src, other := newSource(t, nil), newSource(t, nil)
	for i := range 100 {
		src.put(t, fmt.Sprint("a/", i), "text")
		other.put(t, fmt.Sprint("b/", i), "text")
	}
	m := openMirror(t, src.URL, t.TempDir(), nil)
	m.sync(t)
	m.close()
	wrong := movedMirror(t, other.URL, m.dir)
	if _, err := wrong.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "does not seem to be the same Source") {
		t.Errorf("another Source: %v", err)
	}
	wrong.close()
	m = openMirror(t, src.URL, m.dir, nil)
	if r := m.sync(t); r.Resources != 100 || r.Created+r.Deleted > 0 {
		t.Errorf("%+v", r)
	}
	src.same(t, m.dir)
	if entries, err := os.ReadDir(filepath.Join(m.dir, "b")); err == nil {
		t.Errorf("%d files of the other Source", len(entries))
	}
}

// TestOnlyListMoves continues a copy of a single list: at the URL that the new URL of the Source
// suggests, or at the one that Only names. A different list changes nothing.
func TestOnlyListMoves(t *testing.T) {
	for name, test := range map[string]struct {
		list string // at the new URL
		only string // the path of Options.Only, or ""
		err  string // "" if the copy continues
	}{
		"the same path":            {"/one.xml", "", ""},
		"the same path, named":     {"/one.xml", "/one.xml", ""},
		"another path":             {"/lists/1.xml", "", "one.xml is not a Resource List or Resource Dump of the Source, which has: "},
		"another path, named":      {"/lists/1.xml", "/lists/1.xml", ""},
		"another list, named":      {"/one.xml", "/two.xml", "does not seem to be the same Source"},
		"other resources":          {"/one.xml", "", "does not seem to be the same Source"},
		"a list that is not there": {"/one.xml", "/three.xml", "three.xml is not a Resource List"},
	} {
		t.Run(name, func(t *testing.T) {
			pages := func(list string) map[string]string {
				pages := lists(map[string]string{
					list: resourcesOf(1, listed("a"), listed("b")), "/two.xml": resourcesOf(1, listed("x")), "/a": "a", "/b": "b", "/x": "x",
				})
				pages["/.well-known/resourcesync"] = openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE` + list +
					`</loc><rs:md capability="resourcelist"/></url><url><loc>BASE/two.xml</loc><rs:md capability="resourcelist"/></url></urlset>`
				return pages
			}
			_, former := newScript(t, pages("/one.xml"))
			dir := t.TempDir()
			m := openMirror(t, former, dir, &destination.Options{Only: former + "/one.xml"})
			m.sync(t)
			wantCopy(t, m, "a", "b")
			m.close()

			now := pages(test.list)
			if name == "other resources" {
				now["/one.xml"] = resourcesOf(1, listed("x"))
			}
			_, url := newScript(t, now)
			o := &destination.Options{Moved: true}
			if test.only != "" {
				o.Only = url + test.only
			}
			m = openMirror(t, url, dir, o)
			r, err := m.Sync(t.Context())
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				m.close()
				m = openMirror(t, former, dir, nil)
				r = m.sync(t)
			case err != nil || r.Moved == "" || r.Renamed != 2:
				t.Errorf("%+v, %v", r, err)
			}
			if r.Resources != 2 || r.Created+r.Deleted > 0 {
				t.Errorf("%+v", r)
			}
			m.close()
			if test.err == "" { // later runs need neither option
				m = openMirror(t, url, dir, nil)
				if r := m.sync(t); r.Resources != 2 || r.Created+r.Deleted > 0 {
					t.Errorf("later: %+v", r)
				}
				m.close()
			}
		})
	}
}
