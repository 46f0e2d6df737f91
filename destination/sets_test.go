package destination_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// listOf returns a Resource List of resources.
func listOf(names ...string) string {
	text := openURLSet + `<rs:md capability="resourcelist"/>`
	for _, name := range names {
		text += `<url><loc>BASE/` + name + `</loc><lastmod>2013-01-02T13:00:00Z</lastmod></url>`
	}
	return text + `</urlset>`
}

// TestSharedResource has a resource in two sets, which ends when it is in none.
func TestSharedResource(t *testing.T) {
	capabilities := func(n int) string {
		return fmt.Sprintf(openURLSet+`<rs:md capability="capabilitylist"/><url><loc>BASE/rl%d.xml</loc><rs:md capability="resourcelist"/></url>
			<url><loc>BASE/chl%[1]d.xml</loc><rs:md capability="changelist"/></url></urlset>`, n)
	}
	changes := func(changes string) string {
		return openURLSet + `<rs:md capability="changelist" from="2013-01-01T00:00:00Z"/>` + changes + `</urlset>`
	}
	deleted := changes(`<url><loc>BASE/both</loc><rs:md change="deleted" datetime="2013-01-05T12:00:00Z"/></url>`)
	pages := map[string]string{
		"/.well-known/resourcesync": openURLSet + `<rs:md capability="description"/><url><loc>BASE/cl1.xml</loc></url><url><loc>BASE/cl2.xml</loc></url></urlset>`,
		"/cl1.xml":                  capabilities(1), "/cl2.xml": capabilities(2), "/chl1.xml": changes(""), "/chl2.xml": changes(""),
		"/rl1.xml": listOf("one", "both", "also"), "/rl2.xml": listOf("two", "both", "also"),
		"/one": "1", "/two": "2", "/both": "b", "/also": "a",
	}
	gap := strings.Replace(changes(""), "2013-01-01", "2014-01-01", 1)
	for name, steps := range map[string][]struct {
		set  map[string]string
		want string
	}{
		"changes":              {{map[string]string{"/chl1.xml": deleted}, "also both one two"}, {map[string]string{"/chl2.xml": deleted}, "also one two"}},
		"changes, other order": {{map[string]string{"/chl2.xml": deleted}, "also both one two"}, {map[string]string{"/chl1.xml": deleted}, "also one two"}},
		"lists": {
			{map[string]string{"/chl1.xml": gap, "/rl1.xml": listOf("one", "also")}, "also both one two"},
			{map[string]string{"/chl2.xml": gap, "/rl2.xml": listOf("two", "also")}, "also one two"},
		},
		"a set ends": {
			{map[string]string{"/.well-known/resourcesync": openURLSet + `<rs:md capability="description"/><url><loc>BASE/cl2.xml</loc></url></urlset>`, "/chl2.xml": gap}, "also both one two"},
			{map[string]string{"/chl2.xml": strings.ReplaceAll(deleted, "2013", "2014")}, "also one two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := newScript(t, pages)
			m := openMirror(t, url, t.TempDir(), &destination.Options{MaxDelete: 1})
			if r := m.sync(t); r.Created != 4 || r.Sets != 2 {
				t.Fatalf("baseline: %+v", r)
			}
			if a, err := m.Audit(t.Context()); err != nil || a.Listed != 6 || a.Same != 4 {
				t.Errorf("audit: %+v, %v", a, err)
			}
			for i, step := range steps {
				s.set(step.set)
				r := m.sync(t)
				want := map[string]string{}
				for _, name := range strings.Fields(step.want) {
					want[name] = pages["/"+name]
				}
				if got := files(t, m.dir); !maps.Equal(got, want) {
					t.Errorf("step %d: got %v, want %v; %+v", i, got, want, r)
				}
			}
		})
	}
}

// TestMovedNew has a new resource that moves to a list that has been read, in the first
// baseline.
func TestMovedNew(t *testing.T) {
	pages := withoutChanges(openIndex + `<rs:md capability="resourcelist"/><sitemap><loc>BASE/1.xml</loc></sitemap><sitemap><loc>BASE/2.xml</loc></sitemap></sitemapindex>`)
	maps.Copy(pages, map[string]string{"/1.xml": listOf("a", "b"), "/2.xml": listOf("c", "d"), "/b": "b", "/c": "c"})
	s := &script{pages: pages}
	moved := false
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		if r.URL.Path == "/1.xml" && !moved {
			moved = true
			s.set(map[string]string{"/1.xml": listOf("b", "c"), "/2.xml": listOf("d")})
		}
	})
	m := openMirror(t, site.URL, t.TempDir(), nil)
	m.sync(t)
	if _, ok := files(t, m.dir)["c"]; !ok {
		t.Error("c was always listed and is not in the copy")
	}
}

// TestMaxState has a Source that lists more than the state may hold, until it may hold more.
func TestMaxState(t *testing.T) {
	many := make([]string, 2000)
	for i := range many {
		many[i] = fmt.Sprint("resource/", i)
	}
	s, url := newScript(t, withoutChanges(listOf(many...)))
	m := openMirror(t, url, t.TempDir(), &destination.Options{MaxState: 200_000})
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "the limit of 200000 bytes") {
		t.Fatalf("got %v", err)
	}
	m.close()
	s.set(map[string]string{"/rl.xml": listOf("a", "d")})
	m = openMirror(t, url, m.dir, nil)
	if r := m.sync(t); r.Resources != 2 || r.Failed != 0 {
		t.Errorf("with more room and a shorter list: %+v", r)
	}
}
