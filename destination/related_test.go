package destination_test

import (
	"maps"
	"strings"
	"testing"
)

// TestRelatedResources has links to mirrors, representations, patches and versions. Only the URIs
// in loc are copied, and nothing else is requested.
func TestRelatedResources(t *testing.T) {
	var links strings.Builder
	related := []string{"duplicate", "alternate", "canonical", "describedby", "memento", "timegate", "timemap", "collection", "via",
		"http://www.openarchives.org/rs/terms/patch", "https://example.org/unknown"}
	for i, rel := range related {
		links.WriteString(`<rs:ln rel="` + rel + `" href="BASE/related` + string(rune('a'+i)) + `" type="application/x-unknown" pri="1"/>`)
	}
	pages := maps.Clone(fullSource)
	pages["/rl.xml"] = openURLSet + `<rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/><url><loc>BASE/a</loc>` + links.String() + `</url></urlset>`
	s, url := newScript(t, pages)
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	s.set(map[string]string{"/a": "A", "/chl.xml": openURLSet + `<rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>
		<url><loc>BASE/a</loc><rs:md change="updated" datetime="2013-01-04T00:00:00Z"/>` + links.String() + `</url></urlset>`})
	if r := m.sync(t); r.Updated != 1 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	if got := files(t, m.dir); !maps.Equal(got, map[string]string{"a": "A"}) {
		t.Errorf("got %v", got)
	}
	for i := range related {
		if path := "/related" + string(rune('a'+i)); s.requested(path) > 0 {
			t.Errorf("%s, with the relation %s, was requested", path, related[i])
		}
	}
}
