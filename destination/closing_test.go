package destination_test

import (
	"archive/zip"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// TestClosedAtChange closes a list at the time of a change, after another change at that time. Both
// readings of the end of an interval are used by Sources, so the second change can be in either
// list.
func TestClosedAtChange(t *testing.T) {
	const at = "2025-01-02T12:00:00Z"
	changes := func(until string, names ...string) string {
		text := openURLSet + `<rs:md capability="changelist" from="2025-01-02T00:00:00Z"` + until + `/>`
		for _, name := range names {
			text += fmt.Sprintf(`<url><loc>BASE/%s</loc><rs:md change="created" datetime="%s"/></url>`, name, at)
		}
		return text + `</urlset>`
	}
	index := func(parts ...string) string {
		return openIndex + `<rs:md capability="changelist" from="2025-01-02T00:00:00Z"/>` + strings.Join(parts, "") + `</sitemapindex>`
	}
	part := func(name, from, until string) string {
		return fmt.Sprintf(`<sitemap><loc>BASE/%s.xml</loc><rs:md from="%s"%s/></sitemap>`, name, from, until)
	}
	const closed = ` until="` + at + `"`
	for name, list := range map[string]string{"before the cursor": "2025-01-02T06:00:00Z", "at of the Resource List": at} {
		t.Run(name, func(t *testing.T) {
			pages := maps.Clone(fullSource)
			maps.Copy(pages, map[string]string{
				"/rl.xml":  openURLSet + `<rs:md capability="resourcelist" at="` + list + `"/><url><loc>BASE/a</loc><rs:md length="1"/></url></urlset>`,
				"/chl.xml": index(part("cl1", "2025-01-02T00:00:00Z", "")), "/cl1.xml": changes("", "b"), "/cl2.xml": changes("", "e"),
				"/b": "b", "/e": "e",
			})
			s, url := newScript(t, pages)
			m := openMirror(t, url, t.TempDir(), nil)
			m.sync(t)
			s.set(map[string]string{
				"/chl.xml": index(part("cl1", "2025-01-02T00:00:00Z", closed), part("cl2", at, "")), "/cl1.xml": changes(closed, "b", "d"),
			})
			if r := m.sync(t); r.Failed != 0 {
				t.Errorf("%+v", r)
			}
			want := map[string]string{"a": "a", "b": "b", "d": "d", "e": "e"}
			if got := files(t, m.dir); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestPackageClosedAtChange is the same for Change Dumps.
func TestPackageClosedAtChange(t *testing.T) {
	const at = "2013-01-03T12:00:00Z"
	s, base := newScript(t, nil)
	change := func(name string) string {
		return entry(base, name, name, `path="/`+name+`" change="created" datetime="`+at+`"`)
	}
	dump := func(until, file string) string {
		return openURLSet + `<rs:md capability="changedump" from="2013-01-03T00:00:00Z"/><url><loc>` + base + `/` + file + `</loc><rs:md from="2013-01-03T00:00:00Z"` + until + `/></url></urlset>`
	}
	pages := dumpSource(base, zipOf(t, zip.Deflate, "manifest.xml", manifest("resourcedump", entry(base, "a", "a", `path="a"`)), "a", "a"))
	pages["/cl.xml"] = strings.Replace(pages["/cl.xml"], "</urlset>", `<url><loc>`+base+`/chd.xml</loc><rs:md capability="changedump"/></url></urlset>`, 1)
	pages["/chd.xml"] = dump("", "1.zip")
	pages["/1.zip"] = zipOf(t, zip.Deflate, "manifest.xml", manifest("changedump", change("b")), "b", "b")
	s.set(pages)
	m := openMirror(t, base, t.TempDir(), &destination.Options{Dumps: destination.DumpsAlways})
	m.sync(t)
	s.set(map[string]string{
		"/chd.xml": dump(` until="`+at+`"`, "2.zip"),
		"/2.zip":   zipOf(t, zip.Deflate, "manifest.xml", manifest("changedump", change("b")+change("c")), "b", "b", "c", "c"),
	})
	m.sync(t)
	if got, want := files(t, m.dir), map[string]string{"a": "a", "b": "b", "c": "c"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
