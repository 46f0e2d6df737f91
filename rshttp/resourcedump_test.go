package rshttp_test

import (
	"archive/zip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	dumpPath  = "/resourcesync/resourcedump.xml"
	wholePath = "/resourcesync/resourcedump/~.zip"
)

func TestDumpDocuments(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("first"))
	s.put("b", []byte{})
	src := newSource(t, nil, rshttp.Set{Provider: s})
	pkg := text(t, get(t, src, wholePath))
	for _, tt := range []struct{ path, want string }{
		{"/resourcesync/capabilitylist.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/.well-known/resourcesync"/>
<rs:md capability="capabilitylist"/>
<url>
<loc>https://example.org/resourcesync/resourcelist.xml</loc>
<rs:md capability="resourcelist"/>
</url>
<url>
<loc>https://example.org/resourcesync/resourcedump.xml</loc>
<rs:md capability="resourcedump"/>
</url>
<url>
<loc>https://example.org/resourcesync/changelist.xml</loc>
<rs:md capability="changelist"/>
</url>
</urlset>
`},
		{dumpPath, `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<rs:md capability="resourcedump" at="2026-01-01T00:00:03Z"/>
<url>
<loc>https://example.org/resourcesync/resourcedump/~.zip</loc>
<lastmod>2026-01-01T00:00:03Z</lastmod>
<rs:md at="2026-01-01T00:00:03Z" length="` + fmt.Sprint(len(pkg)) + `" type="application/zip"/>
<rs:ln rel="contents" href="https://example.org/resourcesync/resourcedump/~.xml" type="application/xml"/>
</url>
</urlset>
`},
		{"/resourcesync/resourcedump/~.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<rs:md capability="resourcedump-manifest" at="2026-01-01T00:00:03Z"/>
<url>
<loc>https://example.org/a.txt</loc>
<lastmod>2026-01-01T00:00:00Z</lastmod>
<rs:md hash="sha-256:a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e" length="5" type="text/plain" path="/resources/https/example.org/a.txt"/>
</url>
<url>
<loc>https://example.org/b</loc>
<lastmod>2026-01-01T00:00:00Z</lastmod>
<rs:md hash="sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" length="0" type="text/plain" path="/resources/https/example.org/b~rsxf5pzdxmlthjfezjmbjminf4"/>
</url>
</urlset>
`},
	} {
		res := get(t, src, tt.path)
		if got := text(t, res); got != tt.want || res.Header.Get("Content-Type") != "application/xml" {
			t.Errorf("%s: %s, got\n%s\nwant\n%s", tt.path, res.Status, got, tt.want)
		}
	}
}

// TestPackageRequests is the table of requests for a package and responses.
func TestPackageRequests(t *testing.T) {
	s := shelfOf(t, 3, 100)
	src := newSource(t, nil, rshttp.Set{Provider: s})
	first := get(t, src, wholePath)
	etag, all := first.Header.Get("ETag"), text(t, first)
	size := fmt.Sprint(len(all))
	const (
		modified = "Thu, 01 Jan 2026 00:00:04 GMT"
		ask      = "public, no-cache"
	)
	if len(etag) < 20 || etag[0] != '"' || first.Header.Get("Content-Length") != size {
		t.Fatalf("ETag %s, Content-Length %s of %s", etag, first.Header.Get("Content-Length"), size)
	}
	for _, tt := range []struct {
		name   string
		method string
		path   string
		header []string
		status int
		body   string
		want   []string
	}{
		{"whole", "GET", wholePath, []string{"Accept-Encoding", "gzip"}, 200, all, []string{"Content-Type", "application/zip", "Content-Encoding", "", "Accept-Ranges", "bytes", "Last-Modified", modified, "Cache-Control", ask, "X-Content-Type-Options", "nosniff"}},
		{"head", "HEAD", wholePath, nil, 200, "", []string{"Content-Length", size, "ETag", etag}},
		{"range", "GET", wholePath, []string{"Range", "bytes=10-19"}, 206, all[10:20], []string{"Content-Range", "bytes 10-19/" + size}},
		{"end", "GET", wholePath, []string{"Range", "bytes=-5"}, 206, all[len(all)-5:], nil},
		{"beyond the end", "GET", wholePath, []string{"Range", "bytes=" + size + "-"}, 416, "invalid range: failed to overlap\n", []string{"Content-Range", "bytes */" + size}},
		{"resumed", "GET", wholePath, []string{"Range", "bytes=100-", "If-Range", etag}, 206, all[100:], nil},
		{"resumed by date", "GET", wholePath, []string{"Range", "bytes=100-", "If-Range", modified}, 206, all[100:], nil},
		{"resumed too late", "GET", wholePath, []string{"Range", "bytes=100-", "If-Range", `"x"`}, 200, all, nil},
		{"not modified", "GET", wholePath, []string{"If-None-Match", etag}, 304, "", []string{"ETag", etag}},
		{"not modified since", "GET", wholePath, []string{"If-Modified-Since", modified}, 304, "", nil},
		{"failed precondition", "GET", wholePath, []string{"If-Match", `"x"`}, 412, "", nil},
		{"post", "POST", wholePath, nil, 405, "Only GET and HEAD are allowed here.\n", []string{"Allow", "GET, HEAD"}},
		{"part of none", "GET", "/resourcesync/resourcedump/Yw~Yg.zip", nil, 404, "", nil},
		{"a range of keys that is no package", "GET", "/resourcesync/resourcedump/Yw~.zip", nil, 200, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, src, tt.method, tt.path, tt.header...)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			if body := text(t, res); tt.body != "" && body != tt.body || tt.method == "HEAD" && body != "" {
				t.Errorf("%d bytes, want %d", len(body), len(tt.body))
			}
			for i := 0; i < len(tt.want); i += 2 {
				if got := res.Header.Get(tt.want[i]); got != tt.want[i+1] {
					t.Errorf("%s: %q, want %q", tt.want[i], got, tt.want[i+1])
				}
			}
		})
	}
	for n, want := range map[int]int{16: 206, 17: 200, 5000: 200} {
		var ranges []string
		for i := range n {
			ranges = append(ranges, fmt.Sprintf("%d-%d", i%len(all), i%len(all)))
		}
		opened := s.opened.Load()
		res := get(t, src, wholePath, "Range", "bytes="+strings.Join(ranges, ","))
		if body := text(t, res); res.StatusCode != want || want == 200 && body != all || s.opened.Load() > opened+16 {
			t.Errorf("%d ranges: %s, %d bytes, %d contents opened", n, res.Status, len(body), s.opened.Load()-opened)
		}
	}
	ranges := get(t, src, wholePath, "Range", "bytes=0-9,20-29")
	if body := text(t, ranges); ranges.StatusCode != 206 || !strings.HasPrefix(ranges.Header.Get("Content-Type"), "multipart/byteranges") || !strings.Contains(body, all[20:30]) {
		t.Errorf("several ranges: %s, %v", ranges.Status, ranges.Header)
	}
}

// TestNoDump: dumps that a set does not support are neither advertised nor served.
func TestNoDump(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: tableOf(1)})
	for _, path := range []string{dumpPath, wholePath, "/resourcesync/resourcedump/~.xml"} {
		if res := get(t, src, path); res.StatusCode != 404 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if strings.Contains(text(t, get(t, src, "/resourcesync/capabilitylist.xml")), "dump") {
		t.Error("the Capability List promises a dump")
	}
	if _, err := rshttp.New(base, []rshttp.Set{{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.ResourceDump}}}, nil); err == nil {
		t.Error("a set without an Opener has the capability")
	}
}

// unpack reads the package at path with archive/zip, and checks that it matches its
// manifest, which must be identical to the one served separately. It returns the
// contents by URI.
func unpack(t testing.TB, src *rshttp.Source, path string) map[string]string {
	t.Helper()
	res := get(t, src, path)
	if res.StatusCode != 200 {
		t.Fatalf("%s: %s", path, res.Status)
	}
	b := text(t, res)
	z, err := zip.NewReader(strings.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, f.Name, err)
		}
		files["/"+f.Name] = string(b)
	}
	if z.File[0].Name != "manifest.xml" {
		t.Errorf("%s begins with %s", path, z.File[0].Name)
	}
	manifest := files["/manifest.xml"]
	if outside := text(t, get(t, src, strings.TrimSuffix(path, ".zip")+".xml")); outside != manifest {
		t.Errorf("%s: the manifest inside is\n%s\nand outside\n%s", path, manifest, outside)
	}
	_, entries, err := rsxml.Decode(strings.NewReader(manifest))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	contents := map[string]string{}
	for _, e := range entries {
		content, ok := files[e.Metadata.Path]
		if length, known := e.Metadata.Length.Bytes(); !ok || known && length != int64(len(content)) {
			t.Errorf("%s: %d bytes in the package, %t, %d in the manifest", e.Loc, len(content), ok, length)
		}
		contents[e.Loc] = content
	}
	if len(contents) != len(files)-1 {
		t.Errorf("%s: %d resources in the manifest, %d in the package", path, len(contents), len(files)-1)
	}
	return contents
}

// packages returns the entries of the Resource Dump.
func packages(t testing.TB, src *rshttp.Source) []rsxml.Entry {
	t.Helper()
	return dumped(t, src, dumpPath)
}

// dumped returns the entries of the dump at path, or of all dumps of an index.
func dumped(t testing.TB, src *rshttp.Source, path string) []rsxml.Entry {
	t.Helper()
	head, entries := decode(t, src, path)
	if !head.Index {
		return entries
	}
	var all []rsxml.Entry
	for _, e := range entries {
		part, listed := decode(t, src, pathOf(e))
		if part.Index || part.Metadata.Capability != head.Metadata.Capability || linked(part.Links, resourcesync.RelIndex) != "https://example.org"+path {
			t.Errorf("%s is not a part of the index: %+v", e.Loc, part)
		}
		all = append(all, listed...)
	}
	return all
}

// decode returns the document at path, which must be valid.
func decode(t testing.TB, src *rshttp.Source, path string) (rsxml.Head, []rsxml.Entry) {
	t.Helper()
	res := get(t, src, path)
	if res.StatusCode != 200 {
		t.Fatalf("%s: %s", path, res.Status)
	}
	head, entries, err := rsxml.Decode(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return head, entries
}

func pathOf(e rsxml.Entry) string { return strings.TrimPrefix(e.Loc, "https://example.org") }

// manifestOf returns the path of the manifest of a package.
func manifestOf(e rsxml.Entry) string {
	return strings.TrimPrefix(linked(e.Links, resourcesync.RelContents), "https://example.org")
}

// TestPackages: for each provider, the packages of a dump have the lengths that it
// states, contain every resource once, and are no larger than allowed.
func TestPackages(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	s := newShelf(t)
	const packageSize = 10_000
	for i := range 400 {
		size := rnd.IntN(2000)
		if i%50 == 7 {
			size = packageSize + 1 + rnd.IntN(1000) // alone in its package
		}
		s.put(fmt.Sprintf("%d", rnd.IntN(1_000_000)), noise(uint32(i), size))
	}
	for name, p := range map[string]resourcesync.Provider{"bare": bare{s}, "with every upgrade": s} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: packageSize}}, rshttp.Set{Provider: p})
			got := map[string]string{}
			for _, e := range packages(t, src) {
				if length, _ := e.Metadata.Length.Bytes(); length != int64(len(text(t, get(t, src, pathOf(e))))) {
					t.Errorf("%s does not have the %d bytes stated", e.Loc, length)
				}
				contents, size := unpack(t, src, pathOf(e)), 0
				for uri, content := range contents {
					if _, ok := got[uri]; ok {
						t.Errorf("%s is in two packages", uri)
					}
					got[uri] = content
					size += len(content)
				}
				if size > packageSize && len(contents) > 1 {
					t.Errorf("%s has %d bytes of %d resources", e.Loc, size, len(contents))
				}
			}
			for key, content := range s.content {
				if got["https://example.org/"+key] != string(content) {
					t.Errorf("%s is not in the dump as it is", key)
				}
			}
			if len(got) != len(s.content) {
				t.Errorf("%d resources of %d", len(got), len(s.content))
			}
		})
	}
}
