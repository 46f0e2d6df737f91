package destination_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// part returns an entry of an index that is written as a urlset.
func part(capability, name string) string {
	return `<url><loc>BASE/` + name + `.xml</loc><rs:md capability="` + capability + `"/></url>`
}

// TestIndexAsURLSet reads the entries of an index in a urlset as entries of an index, also beside
// resources, and again in the next run.
func TestIndexAsURLSet(t *testing.T) {
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, part("resourcelist", "rl1"), listed("a"), part("ResourceList", "rl2")),
		"/rl1.xml":          resourcesOf(1, listed("b")),
		"/rl2.xml":          resourcesOf(1, listed("c"), `<url><loc>BASE/changelist.xml</loc><rs:md capability="changelist"/></url>`),
		"/changelist.xml":   changesOf(part("changelist", "chl1"), part("changelist", "chl2")),
		"/chl1.xml":         changesOf(changed(2, "updated", "a")),
		"/chl2.xml":         changesOf(changed(3, "created", "d"), changed(4, "deleted", "b")),
		"/a":                "a", "/b": "b", "/c": "c", "/d": "d",
	}, "resourcelist", "changelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	r := m.sync(t)
	if r.Failed != 0 || !reports(r, "the root of an index is sitemapindex") {
		t.Errorf("%+v", r)
	}
	wantCopy(t, m, "a", "c", "changelist.xml", "d") // the list of resources in rl2 is a resource, too
	s.set(map[string]string{"/chl2.xml": changesOf(changed(3, "created", "d"), changed(4, "deleted", "b"), changed(5, "deleted", "c"))})
	m.sync(t)
	wantCopy(t, m, "a", "changelist.xml", "d")

	s.set(map[string]string{"/rl1.xml": resourcesOf(6), "/rl2.xml": resourcesOf(6, listed("d"), `<url><loc>BASE/changelist.xml</loc></url>`)})
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("audit: %+v, %v", a, err)
	}
}

// TestDumpIndexAsURLSet is TestIndexAsURLSet for dumps, of which one kind has only dumps.
func TestDumpIndexAsURLSet(t *testing.T) {
	s, base := newScript(t, nil)
	dump := func(capability string, entries ...string) string {
		return openURLSet + `<rs:md capability="` + capability + `" at="2025-01-01T01:00:00Z" from="2025-01-01T01:00:00Z"/>` + strings.Join(entries, "") + `</urlset>`
	}
	of := func(path string) string {
		return `<url><loc>BASE` + path + `</loc><rs:md capability="resourcedump" type="application/zip"/></url>`
	}
	s.set(lists(map[string]string{
		"/resourcedump.xml": dump("resourcedump", part("resourcedump", "rd1"), of("/1.zip")),
		"/rd1.xml":          dump("resourcedump", of("/2.zip")),
		"/1.zip":            zipOf(t, 8, "manifest.xml", manifest("resourcedump", entry(base, "a", "A", `path="/a"`)), "a", "A"),
		"/2.zip":            zipOf(t, 8, "manifest.xml", manifest("resourcedump", entry(base, "b", "B", `path="/b"`)), "b", "B"),
		"/changedump.xml":   dump("changedump", part("changedump", "cd1")),
		"/cd1.xml":          dump("changedump", `<url><loc>BASE/3.zip</loc></url>`),
		"/3.zip":            zipOf(t, 8, "manifest.xml", manifest("changedump", entry(base, "c", "C", `path="/c" change="created" datetime="2025-01-01T02:00:00Z"`)), "c", "C"),
	}, "resourcedump", "changedump"))
	m := openMirror(t, base, t.TempDir(), nil)
	if r := m.sync(t); r.Failed != 0 || r.Created != 3 || r.Unused != 0 {
		t.Errorf("%+v", r)
	}
	wantCopy(t, m, "a", "b", "c")
}

// next adds a link to the next page to a document.
func next(href, document string) string {
	return strings.Replace(document, "<rs:md", `<rs:ln rel="next" href="`+href+`"/><rs:md`, 1)
}

// TestNextPage follows the links of pages, also after pages that are not modified.
func TestNextPage(t *testing.T) {
	for name, etags := range map[string]bool{"plain": false, "conditional": true} {
		t.Run(name, func(t *testing.T) {
			s, url := newScript(t, lists(map[string]string{
				"/resourcelist.xml": next("BASE/rl2.xml", resourcesOf(1, listed("a"))),
				"/rl2.xml":          next("rl3.xml", resourcesOf(1, listed("b"))),
				"/rl3.xml":          next("BASE/resourcelist.xml", resourcesOf(1, listed("c"))), // a circle
				"/changelist.xml":   next("BASE/chl2.xml", changesOf()),
				"/chl2.xml":         changesOf(changed(2, "created", "d")),
				"/a":                "a", "/b": "b", "/c": "c", "/d": "d", "/e": "e",
			}, "resourcelist", "changelist"))
			s.etags = etags
			m := openMirror(t, url, t.TempDir(), nil)
			if r := m.sync(t); r.Failed != 0 {
				t.Errorf("%+v", r)
			}
			wantCopy(t, m, "a", "b", "c", "d")
			s.set(map[string]string{"/chl2.xml": next("BASE/chl3.xml", changesOf(changed(2, "created", "d"))), "/chl3.xml": changesOf(changed(3, "created", "e"))})
			m.sync(t)
			wantCopy(t, m, "a", "b", "c", "d", "e")
			s.set(map[string]string{"/chl3.xml": changesOf(changed(3, "created", "e"), changed(4, "deleted", "a"))})
			m.sync(t)
			wantCopy(t, m, "b", "c", "d", "e")

			// The changes begin later on all pages, so the lists are compared.
			gap := strings.Replace(changesOf(), "T00:", "T08:", 1)
			s.set(map[string]string{"/changelist.xml": next("BASE/chl2.xml", gap), "/chl2.xml": gap,
				"/resourcelist.xml": next("BASE/rl2.xml", resourcesOf(9, listed("a"))), "/rl3.xml": resourcesOf(9)})
			m.sync(t)
			wantCopy(t, m, "a", "b", "d", "e")
			if a, err := m.Audit(t.Context()); err != nil || a.Listed != 2 {
				t.Errorf("audit: %+v, %v", a, err)
			}
		})
	}
}

// TestNextPartElsewhere follows a link to the next page at another host if the index lists that page.
func TestNextPartElsewhere(t *testing.T) {
	other, elsewhere := newScript(t, map[string]string{"/rl2.xml": ""})
	elsewhere = strings.Replace(elsewhere, "127.0.0.1", "localhost", 1) + "/rl2.xml"
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": openIndex + `<rs:md capability="resourcelist" at="2025-01-01T01:00:00Z"/><sitemap><loc>BASE/rl1.xml</loc></sitemap><sitemap><loc>` + elsewhere + `</loc></sitemap></sitemapindex>`,
		"/rl1.xml":          next(elsewhere, resourcesOf(1, listed("a"))),
		"/a":                "a", "/b": "b", "/c": "c",
	}, "resourcelist"))
	s.etags, other.etags = true, true
	m := openMirror(t, url, t.TempDir(), &destination.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for hour, name := range []string{"b", "c"} {
		other.set(map[string]string{"/rl2.xml": strings.ReplaceAll(resourcesOf(hour+1, listed(name)), "BASE", url)})
		m.sync(t)
		wantCopy(t, m, "a", name)
	}
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("audit: %+v, %v", a, err)
	}
}

// TestUnlistedOfUnmodified: a resource that one of several lists no longer lists is deleted,
// although the list is read a second time and is not modified then.
func TestUnlistedOfUnmodified(t *testing.T) {
	index := openIndex + `<rs:md capability="resourcelist" at="2025-01-01T01:00:00Z"/><sitemap><loc>BASE/rl1.xml</loc></sitemap><sitemap><loc>BASE/rl2.xml</loc></sitemap></sitemapindex>`
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": index, "/rl1.xml": resourcesOf(1, listed("a"), listed("b"), listed("c")), "/rl2.xml": resourcesOf(1, listed("d"), listed("e")),
		"/a": "a", "/b": "b", "/c": "c", "/d": "d", "/e": "e",
	}, "resourcelist"))
	s.etags = true
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	s.set(map[string]string{"/rl1.xml": resourcesOf(2, listed("a"), listed("c"))})
	m.sync(t)
	wantCopy(t, m, "a", "c", "d", "e")
	s.set(map[string]string{"/rl1.xml": resourcesOf(2)})
	for range 2 {
		if r := m.sync(t); r.Held != 2 {
			t.Errorf("the deletions are not held: %+v", r)
		}
	}
}

// TestNewestPageFirst reads all pages before it decides whether changes are missing.
func TestNewestPageFirst(t *testing.T) {
	newer := openURLSet + `<rs:md capability="changelist" from="2025-01-01T05:00:00Z"/>` + changed(6, "created", "b") + `</urlset>`
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, listed("a")), "/changelist.xml": changesOf(), "/a": "a", "/b": "b", "/c": "c",
	}, "resourcelist", "changelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	s.set(map[string]string{"/changelist.xml": next("BASE/chl2.xml", newer), "/chl2.xml": changesOf(changed(2, "created", "c"))})
	m.sync(t)
	wantCopy(t, m, "a", "b", "c")
	if s.requested("/resourcelist.xml") != 1 {
		t.Error("the resources have been compared")
	}
}

// TestBrokenPages: resources that may be on an unreadable page are not deleted.
func TestBrokenPages(t *testing.T) {
	_, other := newScript(t, map[string]string{"/rl2.xml": resourcesOf(1)})
	for name, test := range map[string]struct{ href, second, want string }{
		"missing":            {"BASE/nothing.xml", "", "404"},
		"no URL":             {"urn:x", "", "not a URL"},
		"another host":       {strings.Replace(other, "127.0.0.1", "localhost", 1) + "/rl2.xml", "", "another host"},
		"another capability": {"BASE/rl2.xml", changesOf(), `has the capability "changelist"`},
		"a web page":         {"BASE/rl2.xml", "<html>", "rsxml"},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := newScript(t, lists(map[string]string{
				"/resourcelist.xml": resourcesOf(1, listed("a"), listed("b"), listed("c")), "/a": "a", "/b": "b", "/c": "c", "/d": "d",
			}, "resourcelist"))
			m := openMirror(t, url, t.TempDir(), nil)
			m.sync(t)
			s.set(map[string]string{"/resourcelist.xml": next(test.href, resourcesOf(2, listed("a"), listed("b"), listed("d"))), "/rl2.xml": test.second})
			for range 2 {
				if r, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) || r.Deleted != 0 {
					t.Errorf("%+v, %v", r, err)
				}
				wantCopy(t, m, "a", "b", "c", "d")
			}
			if _, err := m.Audit(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("audit: %v", err)
			}
		})
	}
}

// TestManyPages follows a chain of any length.
func TestManyPages(t *testing.T) {
	pages := make(map[string]string)
	const count = 300
	for i := range count {
		pages[fmt.Sprintf("/rl%d.xml", i)] = next(fmt.Sprintf("BASE/rl%d.xml", i+1), resourcesOf(1, listed(fmt.Sprint("f", i%3))))
	}
	pages[fmt.Sprintf("/rl%d.xml", count)] = resourcesOf(1, listed("last"))
	pages["/f0"], pages["/f1"], pages["/f2"], pages["/last"] = "0", "1", "2", "l"
	pages = lists(pages)
	pages["/resourcelist.xml"] = pages["/rl0.xml"]
	_, url := newScript(t, pages)
	m := openMirror(t, url+"/rl0.xml", t.TempDir(), nil)
	m.sync(t)
	wantCopy(t, m, "f0", "f1", "f2", "last")
}

// TestOneBrokenList copies the other lists of the set, follows their changes, and deletes nothing
// by absence. Each run reports the broken one.
func TestOneBrokenList(t *testing.T) {
	for name, order := range map[string][]string{"first": {"oai", "resourcelist"}, "last": {"resourcelist", "oai"}} {
		t.Run(name, func(t *testing.T) {
			pages := lists(map[string]string{
				"/oai.xml":          `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"/>`,
				"/resourcelist.xml": resourcesOf(1, listed("a"), listed("b")),
				"/changelist.xml":   changesOf(changed(2, "created", "c")),
				"/a":                "a", "/b": "b", "/c": "c",
			}, append(order, "changelist")...)
			for path, text := range pages {
				pages[path] = strings.Replace(text, `"oai"`, `"resourcelist"`, 1)
			}
			s, url := newScript(t, pages)
			m := openMirror(t, url, t.TempDir(), nil)
			check := func(want ...string) {
				t.Helper()
				if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "oai.xml") {
					t.Errorf("got %v", err)
				}
				wantCopy(t, m, want...)
			}
			check("a", "b", "c")
			s.set(map[string]string{"/resourcelist.xml": resourcesOf(3, listed("a"), listed("c")), "/changelist.xml": changesOf(changed(4, "deleted", "c"))})
			check("a", "b")
			if a, err := m.Audit(t.Context()); err == nil || a.Listed != 2 || a.Extra.Count != 0 {
				t.Errorf("audit: %+v, %v", a, err)
			}
			s.set(map[string]string{"/oai.xml": resourcesOf(5), "/resourcelist.xml": resourcesOf(5, listed("a"))})
			m.sync(t)
			wantCopy(t, m, "a")
		})
	}
}

// TestOneBrokenChangeList applies the changes of the other lists, and reads all of them
// again.
func TestOneBrokenChangeList(t *testing.T) {
	index := openIndex + `<rs:md capability="changelist" from="2025-01-01T00:00:00Z"/><sitemap><loc>BASE/chl1.xml</loc></sitemap><sitemap><loc>BASE/chl2.xml</loc></sitemap></sitemapindex>`
	s, url := newScript(t, lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, listed("a")), "/changelist.xml": index, "/chl1.xml": changesOf(), "/chl2.xml": changesOf(),
		"/a": "a", "/b": "b", "/c": "c",
	}, "resourcelist", "changelist"))
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	s.set(map[string]string{"/chl1.xml": "broken", "/chl2.xml": changesOf(changed(3, "created", "c"))})
	for range 2 {
		if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "chl1.xml") {
			t.Errorf("got %v", err)
		}
		wantCopy(t, m, "a", "c")
	}
	s.set(map[string]string{"/chl1.xml": changesOf(changed(2, "created", "b"))})
	m.sync(t)
	wantCopy(t, m, "a", "b", "c")
}

// TestBrokenPackage reads the other packages of a set that has only dumps.
func TestBrokenPackage(t *testing.T) {
	s, base := newScript(t, nil)
	zipped := func(name string) string {
		return zipOf(t, 8, "manifest.xml", openURLSet+`<rs:md capability="resourcedump-manifest"/>`+entry(base, name, name, `path="/`+name+`"`)+`</urlset>`, name, name)
	}
	dump := openURLSet + `<rs:md capability="resourcedump"/>`
	for _, name := range []string{"a", "b", "c"} {
		dump += `<url><loc>BASE/` + name + `.zip</loc></url>`
	}
	s.set(lists(map[string]string{"/resourcedump.xml": dump + `</urlset>`, "/a.zip": zipped("a"), "/b.zip": "broken", "/c.zip": zipped("c")}, "resourcedump"))
	m := openMirror(t, base, t.TempDir(), &destination.Options{})
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "b.zip") {
		t.Errorf("got %v", err)
	}
	wantCopy(t, m, "a", "c")
}
