package destination_test

import (
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// lists are the pages of a site with a Capability List of lists, by their capabilities. BASE
// stands for its URL.
func lists(more map[string]string, capabilities ...string) map[string]string {
	entries := ""
	for _, c := range capabilities {
		entries += `<url><loc>BASE/` + c + `.xml</loc><rs:md capability="` + c + `"/></url>`
	}
	pages := map[string]string{"/.well-known/resourcesync": openURLSet + `<rs:md capability="capabilitylist"/>` + entries + `</urlset>`}
	maps.Copy(pages, more)
	return pages
}

// resourcesOf returns a Resource List with entries, as of an hour of a day.
func resourcesOf(hour int, entries ...string) string {
	return fmt.Sprintf(openURLSet+`<rs:md capability="resourcelist" at="2025-01-01T%02d:00:00Z"/>%s</urlset>`, hour, strings.Join(entries, ""))
}

// changesOf returns a Change List of that day.
func changesOf(entries ...string) string {
	return openURLSet + `<rs:md capability="changelist" from="2025-01-01T00:00:00Z"/>` + strings.Join(entries, "") + `</urlset>`
}

// listed returns an entry, and changed one of a Change List.
func listed(name string) string { return `<url><loc>BASE/` + name + `</loc></url>` }

func changed(hour int, change, name string) string {
	return fmt.Sprintf(`<url><loc>BASE/%s</loc><rs:md change="%s" datetime="2025-01-01T%02d:00:00Z"/></url>`, name, change, hour)
}

// reports reports whether a report has a deviation with a text.
func reports(r *destination.Report, text string) bool {
	return slices.ContainsFunc(r.Deviating, func(d destination.Deviation) bool { return strings.Contains(d.String(), text) })
}

// wantCopy checks that the copy has these names, each with its own content.
func wantCopy(t *testing.T, m *mirror, names ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(files(t, m.dir)))
	if slices.Sort(names); !slices.Equal(got, names) {
		t.Errorf("the copy has %q, want %q", got, names)
	}
}

// TestUnescaped copies resources whose names are not escaped, or in part.
func TestUnescaped(t *testing.T) {
	_, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, listed("100%.txt"), listed("50%2 a"), listed("é%2Fb"), listed("%41")),
		"/100%.txt":         "a", "/50%2 a": "b", "/é/b": "c", "/A": "d",
	}, "resourcelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	r := m.sync(t)
	if r.Created != 4 || r.Failed != 0 || !reports(r, "two hexadecimal digits") {
		t.Errorf("%+v", r)
	}
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("audit: %+v, %v", a, err)
	}
}

// TestUnreadableURI: unreadable entries count as not copied, in each run until the Source
// has corrected them. Until then, no resource counts as absent.
func TestUnreadableURI(t *testing.T) {
	for name, bad := range map[string]string{
		"another scheme": `<url><loc>urn:isbn:1</loc></url>`,
		"no URL":         `<url><loc>http://[::1/x</loc></url>`,
		"no host":        `<url><loc>http:///x</loc></url>`,
		"empty":          `<url><loc/></url>`,
		"none":           `<url></url>`,
	} {
		t.Run(name, func(t *testing.T) {
			s, url := newScript(t, lists(map[string]string{
				"/resourcelist.xml": resourcesOf(1, listed("a"), listed("b"), listed("c")),
				"/changelist.xml":   changesOf(),
				"/a":                "a", "/b": "b", "/c": "c",
			}, "resourcelist", "changelist"))
			m := openMirror(t, url, t.TempDir(), nil)
			m.sync(t)
			s.set(map[string]string{"/resourcelist.xml": resourcesOf(3, listed("a"), listed("c"), bad), "/changelist.xml": openURLSet + `<rs:md capability="changelist" from="2025-01-01T03:00:00Z"/></urlset>`})
			for range 3 {
				if r := m.sync(t); r.Failed != 1 || r.Deleted != 0 || r.Held != 0 {
					t.Errorf("%+v", r)
				}
			}
			wantCopy(t, m, "a", "b", "c")
			s.set(map[string]string{"/resourcelist.xml": resourcesOf(4, listed("a"), listed("c"))})
			if r := m.sync(t); r.Failed != 0 || r.Deleted != 1 {
				t.Errorf("corrected: %+v", r)
			}
			wantCopy(t, m, "a", "c")
		})
	}
}

// TestUnreadableChange: an unreadable change counts as not copied until a Resource List shows
// its result.
func TestUnreadableChange(t *testing.T) {
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, listed("a")),
		"/changelist.xml":   changesOf(),
		"/a":                "a", "/b": "b",
	}, "resourcelist", "changelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	s.set(map[string]string{"/changelist.xml": changesOf(strings.Replace(changed(2, "created", "b"), "BASE", "urn:x", 1))})
	for range 2 {
		if r := m.sync(t); r.Failed != 1 {
			t.Errorf("%+v", r)
		}
	}
	s.set(map[string]string{"/changelist.xml": changesOf()})
	if r := m.sync(t); r.Failed != 1 {
		t.Errorf("only the change has gone: %+v", r)
	}
	s.set(map[string]string{"/resourcelist.xml": resourcesOf(3, listed("a"), listed("b"))})
	if r := m.sync(t); r.Failed != 0 || r.Created != 1 {
		t.Errorf("listed: %+v", r)
	}
	wantCopy(t, m, "a", "b")
}

// TestOtherNamespace: a document with a misspelt namespace, or with the namespace of another
// version of ResourceSync, is refused. Otherwise it would be copied as a resource.
func TestOtherNamespace(t *testing.T) {
	for _, space := range []string{"http://www.openarchives.org/rs/2.0", "http:/www.openarchives.org/rs/terms/", "http//www.openarchives.org/rs/terms/", "http://www.openarchive.org/rs/terms/"} {
		pages := lists(map[string]string{"/resourcelist.xml": resourcesOf(1, listed("a")), "/a": "a"}, "resourcelist")
		for path, text := range pages {
			pages[path] = strings.ReplaceAll(text, "http://www.openarchives.org/rs/terms/", space)
		}
		pages["/robots.txt"] = "Sitemap: BASE/.well-known/resourcesync\n"
		_, url := newScript(t, pages)
		m := openMirror(t, url, t.TempDir(), nil)
		if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), `"`+space+`"`) {
			t.Errorf("%s: %v", space, err)
		}
		wantCopy(t, m)
	}
}

// TestHashes uses the valid hashes.
func TestHashes(t *testing.T) {
	sum := fmt.Sprintf("%x", md5.Sum([]byte("a")))
	entry := func(name, hash string) string {
		return `<url><loc>BASE/` + name + `</loc><rs:md hash="` + hash + `"/></url>`
	}
	_, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, entry("a", "md5:"+sum+",sha-256:0,x"), entry("b", "sha-256:4711"), entry("c", "md5:"+sum+", sha-512:")),
		"/a":                "a", "/b": "b", "/c": "something else",
	}, "resourcelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	r := m.sync(t)
	if r.Created != 2 || r.Failed != 1 || r.Failures[0].URI != url+"/c" {
		t.Errorf("%+v", r)
	}
	if !reports(r, "separated by spaces") {
		t.Errorf("deviations: %v", r.Deviating)
	}
	wantCopy(t, m, "a", "b")
}
