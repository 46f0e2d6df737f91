package destination_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const (
	openURLSet = `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">`
	openIndex  = `<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">`
)

// A script is a Source whose documents and resources are written by hand. BASE stands for
// its URL.
type script struct {
	etags bool // pages have entity tags

	mu       sync.Mutex
	pages    map[string]string
	requests map[string]int
}

func (s *script) set(pages map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.pages, pages)
}

func (s *script) remove(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		delete(s.pages, path)
	}
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	text, ok := s.pages[r.URL.Path]
	if s.requests != nil {
		s.requests[r.URL.Path]++
	}
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if link, rest, ok := strings.Cut(text, "\nLINK\n"); ok {
		w.Header().Set("Link", link)
		text = rest
	}
	if etag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))); s.etags {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	fmt.Fprint(w, strings.ReplaceAll(text, "BASE", "http://"+r.Host))
}

// requested returns the number of requests for a path.
func (s *script) requested(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// newScript serves pages, and returns the URL.
func newScript(t testing.TB, pages map[string]string) (*script, string) {
	t.Helper()
	s := &script{pages: make(map[string]string), requests: make(map[string]int)}
	maps.Copy(s.pages, pages)
	return s, serve(t, s.ServeHTTP).URL
}

// fullSource is a small Source of version 1.0, whose lists have errors that occur in the field.
var fullSource = map[string]string{
	"/.well-known/resourcesync": openURLSet + `<rs:md capability="description"/><url><loc>BASE/cl.xml</loc><rs:md capability="capabilitylist"/></url></urlset>`,
	"/cl.xml": openURLSet + `<rs:ln rel="up" href="BASE/.well-known/resourcesync"/><rs:md capability="capabilitylist"/>
		<url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url>
		<url><loc>BASE/chl.xml</loc><rs:md capability="changelist"/></url></urlset>`,
	"/rl.xml": openURLSet + `<rs:ln rel="up" href="BASE/cl.xml"/><rs:md capability="resourcelist" at="2013-01-03 09:00:00"/>
		<url><loc>/a</loc><lastmod>2013-01-02T13:00:00Z</lastmod><rs:md hash="md5:0CC175B9C0F1B6A831C399E269772661" length="1"/></url>
		<url><loc>BASE/b c</loc><lastmod>2013-01-02T14:00:00Z</lastmod></url></urlset>`,
	"/chl.xml": openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z"/></urlset>`,
	"/a":       "a", "/b c": "b", "/d": "d",
}

// TestOldSource follows a Source of version 1.0: changes have times in lastmod only.
func TestOldSource(t *testing.T) {
	s, url := newScript(t, fullSource)
	m := openMirror(t, url, t.TempDir(), nil)
	if r := m.sync(t); r.Created != 2 || r.Failed != 0 || r.Deviations == 0 {
		t.Errorf("baseline: %+v", r)
	}
	// The list has the newest change first, as some repositories write it.
	s.remove("/b c", "/gone")
	s.set(map[string]string{"/a": "A", "/d": "D", "/chl.xml": openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>
		<url><loc>BASE/d</loc><lastmod>2013-01-05T12:00:00Z</lastmod><rs:md change="created"/></url>
		<url><loc>BASE/b c</loc><lastmod>2013-01-05T11:00:00Z</lastmod><rs:md change="deleted"/></url>
		<url><loc>BASE/b c</loc><lastmod>2013-01-05T10:00:00Z</lastmod><rs:md change="updated"/></url>
		<url><loc>BASE/d</loc><lastmod>2013-01-05T09:00:00Z</lastmod><rs:md change="deleted"/></url>
		<url><loc>BASE/a</loc><lastmod>2013-01-05T09:00:00Z</lastmod><rs:md change="updated"/></url>
		<url><loc>BASE/gone</loc><lastmod>2013-01-05T08:00:00Z</lastmod><rs:md change="deleted"/></url>
		<url><loc>BASE/gone</loc><lastmod>2013-01-05T07:00:00Z</lastmod><rs:md change="created"/></url></urlset>`})
	if r := m.sync(t); r.Created != 1 || r.Updated != 1 || r.Deleted != 1 || r.Failed != 0 {
		t.Errorf("changes: %+v", r)
	}
	want := map[string]string{"a": "A", "d": "D"}
	if got := files(t, m.dir); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r := m.sync(t); r.Created+r.Updated+r.Deleted != 0 {
		t.Errorf("nothing new: %+v", r)
	}
}

// TestDiscovery finds a Source in each way of section 6.3, and by any of its documents.
func TestDiscovery(t *testing.T) {
	without := func(added map[string]string, paths ...string) map[string]string {
		pages := maps.Clone(fullSource)
		for _, p := range paths {
			delete(pages, p)
		}
		maps.Copy(pages, added)
		return pages
	}
	for name, test := range map[string]struct {
		pages map[string]string
		path  string
	}{
		"well-known URI":  {fullSource, ""},
		"root":            {fullSource, "/"},
		"description":     {fullSource, "/.well-known/resourcesync"},
		"capability list": {fullSource, "/cl.xml"},
		"resource list":   {fullSource, "/rl.xml"},
		"any page":        {without(map[string]string{"/about": "<html><head><title>About</title></head></html>"}), "/about"},
		"missing page":    {fullSource, "/nothing"},
		"Link header":     {without(map[string]string{"/about": "</cl.xml>; rel=\"resourcesync\"\nLINK\nplain text"}, "/.well-known/resourcesync"), "/about"},
		"HTML link":       {without(map[string]string{"/": `<!doctype html><html><head><link href="cl.xml" rel="Alternate ResourceSync"></head></html>`}, "/.well-known/resourcesync"), ""},
		"robots.txt":      {without(map[string]string{"/robots.txt": "User-agent: *\nAllow: /\nsitemap: BASE/rl.xml # all\n"}, "/.well-known/resourcesync"), ""},
		"sitemap.xml":     {without(map[string]string{"/sitemap.xml": fullSource["/rl.xml"]}, "/.well-known/resourcesync"), ""},
		"sitemap.xml without capability": {map[string]string{"/a": "a", "/b c": "b",
			"/sitemap.xml": openURLSet + `<url><loc>BASE/a</loc></url><url><loc>BASE/b%20c</loc><rs:md length="1"/></url></urlset>`}, ""},
		"description 0.9":  {without(map[string]string{"/.well-known/resourcesync": openURLSet + `<rs:md capability="resourcesync"/><url><loc>BASE/cl.xml</loc></url></urlset>`}), ""},
		"index of sources": {without(map[string]string{"/.well-known/resourcesync": openIndex + `<rs:md capability="description"/><sitemap><loc>BASE/sd.xml</loc></sitemap></sitemapindex>`, "/sd.xml": fullSource["/.well-known/resourcesync"]}), ""},
		"index of lists": {without(map[string]string{
			"/rl.xml":  openIndex + `<rs:md capability="resourcelistindex" at="2013-01-03T09:00:00Z"/><sitemap><loc>BASE/rl1.xml</loc></sitemap></sitemapindex>`,
			"/rl1.xml": fullSource["/rl.xml"]}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := newScript(t, test.pages)
			m := openMirror(t, url+test.path, t.TempDir(), nil)
			if r := m.sync(t); r.Created != 2 || r.Failed != 0 || r.Sets != 1 {
				t.Errorf("%+v", r)
			}
			if got, want := files(t, m.dir), map[string]string{"a": "a", "b c": "b"}; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestNoSource: the error names the documents that were looked for.
func TestNoSource(t *testing.T) {
	_, url := newScript(t, map[string]string{"/": "<html></html>", "/sitemap.xml": openURLSet + `<url><loc>BASE/a</loc></url></urlset>`})
	m := openMirror(t, url, t.TempDir(), nil)
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "does not lead to a ResourceSync document") {
		t.Errorf("got %v", err)
	}
}

// TestChangeListIndex: only parts that may have new changes are read, in the order of
// time.
func TestChangeListIndex(t *testing.T) {
	part := func(day int, change, path string) string {
		return fmt.Sprintf(openURLSet+`<rs:md capability="changelist" from="2025-01-%02dT00:00:00Z" until="2025-01-%02dT00:00:00Z"/>
			<url><loc>BASE/%s</loc><rs:md change="%s" datetime="2025-01-%02dT12:00:00Z"/></url></urlset>`, day, day+1, path, change, day)
	}
	index := func(days ...int) string {
		var b strings.Builder
		for _, d := range days {
			fmt.Fprintf(&b, `<sitemap><loc>BASE/chl%d.xml</loc><rs:md from="2025-01-%02dT00:00:00Z" until="2025-01-%02dT00:00:00Z"/></sitemap>`, d, d, d+1)
		}
		return openIndex + `<rs:md capability="changelist" from="2025-01-01T00:00:00Z"/>` + b.String() + `</sitemapindex>`
	}
	pages := maps.Clone(fullSource)
	maps.Copy(pages, map[string]string{
		"/rl.xml":  openURLSet + `<rs:md capability="resourcelist" at="2025-01-02T06:00:00Z"/><url><loc>BASE/a</loc><rs:md length="1"/></url></urlset>`,
		"/chl.xml": index(2, 1), "/chl1.xml": part(1, "deleted", "a"), "/chl2.xml": part(2, "created", "d"),
	})
	s, url := newScript(t, pages)
	m := openMirror(t, url, t.TempDir(), nil)
	if r := m.sync(t); r.Created != 2 || r.Deleted != 0 || r.Failed != 0 {
		t.Errorf("baseline: %+v", r)
	}
	s.set(map[string]string{"/chl.xml": index(4, 3, 2, 1), "/chl3.xml": part(3, "deleted", "d"), "/chl4.xml": part(4, "created", "d"), "/chl1.xml": "not XML"})
	if r := m.sync(t); r.Updated != 1 || r.Deleted != 0 || r.Failed != 0 {
		t.Errorf("changes: %+v", r)
	}
}

// TestBrokenList: a list that cannot be read causes no deletions.
func TestBrokenList(t *testing.T) {
	for name, broken := range map[string]string{
		"truncated": openURLSet + `<rs:md capability="resourcelist" at="2025-01-03T00:00:00Z"/>`,
		"HTML":      `<html><body>Maintenance</body></html>`,
		"missing":   openIndex + `<rs:md capability="resourcelist" at="2025-01-03T00:00:00Z"/><sitemap><loc>BASE/none.xml</loc></sitemap></sitemapindex>`,
	} {
		t.Run(name, func(t *testing.T) {
			pages := maps.Clone(fullSource)
			pages["/cl.xml"] = openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url></urlset>`
			s, url := newScript(t, pages)
			m := openMirror(t, url, t.TempDir(), nil)
			m.sync(t)
			s.set(map[string]string{"/rl.xml": broken})
			if _, err := m.Sync(t.Context()); err == nil {
				t.Error("no error")
			}
			if got := len(files(t, m.dir)); got != 2 {
				t.Errorf("the copy has %d files", got)
			}
		})
	}
}
