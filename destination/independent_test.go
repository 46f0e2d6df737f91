package destination_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// TestIndependentSets has a change of one set while the resources are copied, and another set that
// fails: from the beginning, or when its changes are read again.
func TestIndependentSets(t *testing.T) {
	capabilities := func(n int) string {
		return fmt.Sprintf(openURLSet+`<rs:md capability="capabilitylist"/><url><loc>BASE/rl%d.xml</loc><rs:md capability="resourcelist"/></url>
			<url><loc>BASE/chl%[1]d.xml</loc><rs:md capability="changelist"/></url></urlset>`, n)
	}
	changes := func(changes string) string {
		return openURLSet + `<rs:md capability="changelist" from="2013-01-01T00:00:00Z"/>` + changes + `</urlset>`
	}
	for name, later := range map[string]bool{"from the beginning": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			s, _ := newScript(t, map[string]string{
				"/.well-known/resourcesync": openURLSet + `<rs:md capability="description"/><url><loc>BASE/cl1.xml</loc></url><url><loc>BASE/cl2.xml</loc></url></urlset>`,
				"/cl1.xml":                  capabilities(1), "/cl2.xml": capabilities(2), "/chl1.xml": changes(""), "/chl2.xml": changes(""),
				"/rl1.xml": listOf("one"), "/rl2.xml": listOf("two"), "/one": "1", "/two": "2", "/new": "n",
			})
			if !later {
				s.remove("/chl1.xml")
			}
			site := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/two" {
					s.set(map[string]string{"/chl2.xml": changes(`<url><loc>BASE/new</loc><rs:md change="created" datetime="2013-01-05T12:00:00Z"/></url>`)})
					s.remove("/chl1.xml")
				}
				s.ServeHTTP(w, r)
			})
			m := openMirror(t, site.URL, t.TempDir(), nil)
			if _, err := m.Sync(t.Context()); err == nil {
				t.Error("no error")
			}
			if got := slices.Sorted(maps.Keys(files(t, m.dir))); !slices.Equal(got, []string{"new", "one", "two"}) {
				t.Errorf("the copy has %v", got)
			}
		})
	}
}
