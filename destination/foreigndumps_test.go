package destination_test

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// zipOf returns a ZIP file of names and contents.
func zipOf(t testing.TB, method uint16, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		e, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(e, files[i+1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// entry returns the entry of a manifest or list for a resource. md has further attributes.
func entry(base, name, content, md string) string {
	return fmt.Sprintf(`<url><loc>%s/%s</loc><lastmod>2013-01-02T13:00:00Z</lastmod><rs:md hash="md5:%x" length="%d" %s/></url>`, base, name, md5.Sum([]byte(content)), len(content), md)
}

func manifest(capability, entries string) string {
	return openURLSet + `<rs:md capability="` + capability + `-manifest" at="2013-01-03T09:00:00Z" from="2013-01-03T00:00:00Z"/>` + entries + `</urlset>`
}

// dumpSource is a Source of version 1.0 with a Resource Dump of one package without a copy of
// its manifest.
func dumpSource(base, zip string) map[string]string {
	return map[string]string{
		"/.well-known/resourcesync": strings.ReplaceAll(fullSource["/.well-known/resourcesync"], "BASE", base),
		"/cl.xml":                   openURLSet + `<rs:md capability="capabilitylist"/><url><loc>` + base + `/rd.xml</loc><rs:md capability="resourcedump"/></url></urlset>`,
		"/rd.xml":                   openURLSet + `<rs:md capability="resourcedump" at="2013-01-03T09:00:00Z"/><url><loc>` + base + `/rd.zip</loc></url></urlset>`,
		"/rd.zip":                   zip,
		"/a":                        "content of a", "/b": "content of b",
	}
}

// TestForeignPackages reads packages as other programs write them, and requests what is
// missing or wrong in them.
func TestForeignPackages(t *testing.T) {
	s, base := newScript(t, nil)
	a, b := entry(base, "a", "content of a", `path="/res/a"`), entry(base, "b", "content of b", `path="/res/b"`)
	both := manifest("resourcedump", a+b)
	for name, test := range map[string]struct {
		zip    string
		unused int
		want   string // an error of Sync
	}{
		"stored":            {zipOf(t, zip.Store, "manifest.xml", both, "res/a", "content of a", "res/b", "content of b"), 0, ""},
		"deflated":          {zipOf(t, zip.Deflate, "manifest.xml", both, "res/a", "content of a", "res/b", "content of b"), 0, ""},
		"manifest is last":  {zipOf(t, zip.Deflate, "res/", "", "res/b", "content of b", "res/a", "content of a", "manifest.xml", both), 0, ""},
		"other slashes":     {zipOf(t, zip.Deflate, `.\manifest.xml`, strings.ReplaceAll(both, `path="/`, `path="`), `\res\a`, "content of a", "./res/b", "content of b"), 0, ""},
		"no path":           {zipOf(t, zip.Deflate, "manifest.xml", manifest("resourcedump", a+entry(base, "b", "content of b", "")), "res/a", "content of a"), 0, ""},
		"missing bitstream": {zipOf(t, zip.Deflate, "manifest.xml", both, "res/a", "content of a"), 1, ""},
		"wrong bitstream":   {zipOf(t, zip.Deflate, "manifest.xml", both, "res/a", "content of a", "res/b", "content of x"), 1, ""},
		"longer bitstream":  {zipOf(t, zip.Deflate, "manifest.xml", both, "res/a", "content of a", "res/b", strings.Repeat("x", 1_000_000)), 1, ""},
		"version 0.9": {zipOf(t, zip.Deflate, "manifest.xml", openURLSet+`<rs:ln rel="resourcesync" href="`+base+`/cl.xml"/><rs:md capability="resourcedump-manifest" modified="2013-01-03T09:00:00Z"/>`+
			strings.ReplaceAll(a+b, `path="/`, `path="`)+`</urlset>`, "res/a", "content of a", "res/b", "content of b"), 0, ""},
		"no manifest":     {zipOf(t, zip.Deflate, "res/a", "content of a"), 0, "the manifest of"},
		"broken manifest": {zipOf(t, zip.Deflate, "manifest.xml", both[:len(both)-20]), 0, "unexpected EOF"},
		"no ZIP":          {"<html>Not found</html>", 0, "not a valid zip file"},
	} {
		t.Run(name, func(t *testing.T) {
			s.set(dumpSource(base, test.zip))
			m := openMirror(t, base, t.TempDir(), nil)
			r, err := m.Sync(t.Context())
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || r.Created != 2 || r.Failed != 0 || r.Unused != int64(test.unused) || r.Packages != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			if got, want := files(t, m.dir), map[string]string{"a": "content of a", "b": "content of b"}; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestStaleDump has a dump that is older than the Resource List, and one that is broken. The
// lists decide.
func TestStaleDump(t *testing.T) {
	s, base := newScript(t, nil)
	var old, listed string
	pages := map[string]string{}
	stale := []string{"manifest.xml", ""}
	for i := range 40 {
		name := fmt.Sprint("f", i)
		content := fmt.Sprint("content ", i)
		old += entry(base, name, content, `path="/`+name+`"`)
		stale = append(stale, name, content)
		if i%4 == 0 {
			content = fmt.Sprint("new content ", i)
		}
		if i != 7 {
			listed += entry(base, name, content, "")
			pages["/"+name] = content
		}
	}
	stale[1] = manifest("resourcedump", old)
	for name, test := range map[string]struct {
		zip      string
		packages int64
		unused   int64
	}{
		"stale":  {zipOf(t, zip.Deflate, stale...), 1, 0},
		"broken": {"PK", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.set(dumpSource(base, test.zip))
			s.set(pages)
			s.set(map[string]string{
				"/rl.xml": openURLSet + `<rs:md capability="resourcelist" at="2013-01-04T09:00:00Z"/>` + listed + `</urlset>`,
				"/cl.xml": openURLSet + `<rs:md capability="capabilitylist"/><url><loc>` + base + `/rd.xml</loc><rs:md capability="resourcedump"/></url>
					<url><loc>` + base + `/rl.xml</loc><rs:md capability="resourcelist"/></url></urlset>`,
			})
			m := openMirror(t, base, t.TempDir(), nil)
			if r := m.sync(t); r.Created != 39 || r.Failed != 0 || r.Packages != test.packages || r.Unused != test.unused {
				t.Errorf("%+v", r)
			}
			for name, text := range files(t, m.dir) {
				if text != pages["/"+name] {
					t.Errorf("%s has %q, want %q", name, text, pages["/"+name])
				}
			}
		})
	}
}

// TestChangeDumpSuperseded has versions that later packages and lists supersede.
func TestChangeDumpSuperseded(t *testing.T) {
	s, base := newScript(t, nil)
	change := func(name, content, change, time string) string {
		path := ""
		if change != "deleted" {
			path = `path="/` + content + `" `
		}
		return entry(base, name, content, path+`change="`+change+`" datetime="`+time+`"`)
	}
	changes := func(entries string) string { return manifest("changedump", entries) }
	one := zipOf(t, zip.Deflate, "manifest.xml", changes(
		change("a", "a2", "updated", "2013-01-03T10:00:00Z")+change("a", "a3", "updated", "2013-01-03T11:00:00Z")+
			change("c", "c1", "created", "2013-01-03T11:00:01Z")+change("b", "", "deleted", "2013-01-03T11:00:02Z")),
		"a2", "a2", "a3", "a3", "c1", "c1")
	two := zipOf(t, zip.Deflate, "manifest.xml", changes(
		change("c", "c2", "updated", "2013-01-03T12:00:00Z")+change("d", "d1", "created", "2013-01-03T12:00:01Z")+change("d", "", "deleted", "2013-01-03T12:00:02Z")),
		"c2", "c2", "d1", "d1")
	pages := dumpSource(base, zipOf(t, zip.Deflate, "manifest.xml",
		manifest("resourcedump", entry(base, "a", "content of a", `path="a"`)+entry(base, "b", "content of b", `path="b"`)), "a", "content of a", "b", "content of b"))
	pages["/chd.xml"] = openIndex + `<rs:md capability="changedump" from="2013-01-03T00:00:00Z"/><sitemap><loc>` + base + `/chd1.xml</loc></sitemap></sitemapindex>`
	pages["/chd1.xml"] = openURLSet + `<rs:md capability="changedump" from="2013-01-03T00:00:00Z"/>
		<url><loc>` + base + `/2.zip</loc><rs:md from="2013-01-03T11:30:00Z" until="2013-01-03T13:00:00Z"/></url>
		<url><loc>` + base + `/1.zip</loc><rs:md from="2013-01-03T00:00:00Z" until="2013-01-03T11:30:00Z"/></url></urlset>`
	pages["/1.zip"], pages["/2.zip"] = one, two
	pages["/chl.xml"] = openURLSet + `<rs:md capability="changelist" from="2013-01-03T12:30:00Z"/>` + change("a", "a4", "updated", "2013-01-03T14:00:00Z") + `</urlset>`
	pages["/a"] = "a4"
	for name, test := range map[string]struct {
		capabilities []string
		want         map[string]string
	}{
		"Change Dump":                  {[]string{"changedump chd.xml"}, map[string]string{"a": "a3", "c": "c2"}},
		"and a later Change List":      {[]string{"changedump chd.xml", "changelist chl.xml"}, map[string]string{"a": "a4", "c": "c2"}},
		"and an earlier Resource List": {[]string{"changedump chd.xml", "changelist chl.xml", "resourcelist rl.xml"}, map[string]string{"a": "a4", "c": "c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.set(pages)
			list := openURLSet + `<rs:md capability="capabilitylist"/><url><loc>` + base + `/rd.xml</loc><rs:md capability="resourcedump"/></url>`
			s.set(map[string]string{"/cl.xml": list + `</urlset>`})
			m := openMirror(t, base, t.TempDir(), &destination.Options{Dumps: destination.DumpsAlways})
			if r := m.sync(t); r.Created != 2 {
				t.Errorf("baseline: %+v", r)
			}
			for _, c := range test.capabilities {
				capability, uri, _ := strings.Cut(c, " ")
				list += `<url><loc>` + base + `/` + uri + `</loc><rs:md capability="` + capability + `"/></url>`
			}
			s.set(map[string]string{
				"/cl.xml": list + `</urlset>`,
				"/rl.xml": openURLSet + `<rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>` + entry(base, "a", "content of a", "") + entry(base, "b", "content of b", "") + `</urlset>`,
			})
			for range 2 {
				r := m.sync(t)
				if r.Failed+r.Unused != 0 {
					t.Errorf("%+v", r)
				}
				if got := files(t, m.dir); !maps.Equal(got, test.want) {
					t.Errorf("got %v, want %v; %+v", got, test.want, r)
				}
			}
		})
	}
}

// TestDumpLimits has a package without an end.
func TestDumpLimits(t *testing.T) {
	s, base := newScript(t, nil)
	s.set(dumpSource(base, ""))
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rd.zip" {
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
	s.set(map[string]string{"/rd.xml": openURLSet + `<rs:md capability="resourcedump" at="2013-01-03T09:00:00Z"/><url><loc>` + site.URL + `/rd.zip</loc><rs:md length="1000"/></url></urlset>`})
	s.set(map[string]string{"/cl.xml": openURLSet + `<rs:md capability="capabilitylist"/><url><loc>` + site.URL + `/rd.xml</loc><rs:md capability="resourcedump"/></url></urlset>`})
	m := openMirror(t, site.URL+"/cl.xml", t.TempDir(), nil)
	if _, err := m.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than the limit") {
		t.Errorf("got %v", err)
	}
}
