package rshttp_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestNoDump: what a set cannot do is neither promised nor there.
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

// unpack reads the package at path with archive/zip, and checks that it holds
// what its manifest says and that this is the manifest served on its own. It
// returns the contents by URI.
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
			t.Errorf("%s is no part of the index: %+v", e.Loc, part)
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

// TestPackages: the packages of a dump are as long as it says, hold every
// resource once, and are no larger than they may be, whatever the provider.
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
					t.Errorf("%s has not the %d bytes it is said to have", e.Loc, length)
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

// TestDumpStability: a change touches its package and the dump, and nothing else
// of a Destination's.
func TestDumpStability(t *testing.T) {
	s := shelfOf(t, 200, 100)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 2000}}, rshttp.Set{Provider: s})
	state := func() map[string]string {
		out := map[string]string{dumpPath: get(t, src, dumpPath).Header.Get("ETag")}
		for _, e := range packages(t, src) {
			for _, path := range []string{pathOf(e), strings.TrimSuffix(pathOf(e), ".zip") + ".xml"} {
				res := get(t, src, path)
				out[path] = res.Header.Get("ETag") + res.Header.Get("Last-Modified")
			}
		}
		return out
	}
	before := state()
	if len(before) < 20 {
		t.Fatalf("%d documents and packages", len(before))
	}
	planned := src.Counters().Planned
	for _, tt := range []struct {
		name   string
		change func()
	}{
		{"update", func() { s.put("000100.txt", noise(1, 90)) }},
		{"delete", func() {
			if err := s.Delete(t.Context(), "000100.txt"); err != nil {
				t.Error(err)
			}
		}},
		{"insert", func() { s.put("000100-a.txt", noise(1, 50)) }},
	} {
		tt.change()
		var after map[string]string
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if after = state(); after[dumpPath] != before[dumpPath] || time.Now().After(deadline) {
				break
			}
		}
		var changed []string
		for path, tag := range after {
			if before[path] != tag {
				changed = append(changed, path)
			}
		}
		if len(changed) != 3 || len(after) != len(before) {
			t.Errorf("%s: changed are %v", tt.name, slices.Sorted(slices.Values(changed)))
		}
		before = after
	}
	if n := src.Counters().Planned - planned; n != 3 {
		t.Errorf("%d packages laid out anew", n)
	}
}

// TestDumpGrows: packages are divided when they have outgrown their size, and
// those that are not keep their boundaries.
func TestDumpGrows(t *testing.T) {
	for _, name := range []string{"one package", "several"} {
		t.Run(name, func(t *testing.T) {
			n := 3
			if name == "several" {
				n = 100
			}
			s := shelfOf(t, n, 100)
			src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1000}}, rshttp.Set{Provider: s})
			before := packages(t, src)
			for i := range 30 {
				s.put(fmt.Sprintf("000001-%02d.txt", i), noise(uint32(i), 100))
			}
			listed := 0
			for deadline := time.Now().Add(time.Minute); listed != n+30 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				listed = 0
				for _, e := range packages(t, src) {
					if res := get(t, src, pathOf(e)); res.StatusCode == 410 {
						break // not divided yet
					}
					listed += len(unpack(t, src, pathOf(e)))
				}
			}
			after := packages(t, src)
			if listed != n+30 || len(after) < len(before)+3 {
				t.Errorf("%d resources in %d packages, before in %d", listed, len(after), len(before))
			}
			if last := before[len(before)-1].Loc; name == "several" && after[len(after)-1].Loc != last {
				t.Errorf("the last package was %s and is %s", last, after[len(after)-1].Loc)
			}
			gone := get(t, src, wholePath)
			if gone.StatusCode != 410 || gone.Header.Get("Link") != `<https://example.org/resourcesync/resourcedump.xml>; rel="index"` {
				t.Errorf("a package that is far too large: %s, Link %q", gone.Status, gone.Header.Get("Link"))
			}
		})
	}
}

// TestDumpLeftOut: what a package cannot hold is left out and breaks nothing.
func TestDumpLeftOut(t *testing.T) {
	twice := resource("b")
	twice.Key = "c"
	src := newSource(t, nil, rshttp.Set{
		Provider: wrong{resource("a"), resource("b"), twice, {Key: "d", URI: "/relative"}},
		Opener:   shelfWith(t, "a", "b", "c", "d"),
	})
	got := unpack(t, src, wholePath)
	if len(got) != 2 || got["https://example.org/b"] != "content of b" {
		t.Errorf("%v", got)
	}
	if n := src.Counters().LeftOut; n != 4 { // in the package and in its manifest
		t.Errorf("%d counted", n)
	}
	if e := packages(t, src)[0]; e.Metadata.Length != (resourcesync.Length{}) {
		t.Errorf("the length of a package with contents of unknown length: %v", e.Metadata.Length)
	}
}

func shelfWith(t testing.TB, keys ...string) *shelf {
	s := newShelf(t)
	for _, key := range keys {
		s.swap(key, []byte("content of "+key))
	}
	return s
}

// TestReadOnce: without a Checksummer a resource is read once for its checksum,
// and again only if it has changed or something was wrong with it.
func TestReadOnce(t *testing.T) {
	s := shelfOf(t, 10, 100)
	for name, tt := range map[string]struct {
		provider resourcesync.Provider
		again    uint64 // layouts for the same state
	}{"bare": {bare{s}, 1}, "with every upgrade": {s, 0}} {
		src := newSource(t, nil, rshttp.Set{Provider: tt.provider})
		for range 2 {
			unpack(t, src, wholePath)
		}
		if c := src.Counters(); c.Read != 10 || c.Planned != 1+tt.again {
			t.Errorf("%s: %d resources read for %d layouts", name, c.Read, c.Planned)
		}
		s.put("000004.txt", noise(uint32(src.Counters().Read), 50+len(name)))
		unpack(t, src, wholePath)
		if c := src.Counters(); c.Read != 11 {
			t.Errorf("%s: %d resources read after a change", name, c.Read)
		}
		for i := range 2 { // laid out anew, but not sent
			s.put("000005.txt", noise(uint32(i), 60+i+len(name)))
			do(t, src, "HEAD", wholePath)
		}
		unpack(t, src, wholePath)
		if c := src.Counters(); c.Read != 12 {
			t.Errorf("%s: %d resources read after changes that nobody fetched", name, c.Read)
		}
	}
	known := &summed{shelf: newShelf(t)}
	for i := range 10 {
		known.put(fmt.Sprint(i), noise(uint32(i), 100))
	}
	known.shelf.put("other", []byte("its checksum is not known"))
	src := newSource(t, nil, rshttp.Set{Provider: known})
	unpack(t, src, wholePath)
	if c := src.Counters(); c.Read != 1 || known.opened.Load() != 12 {
		t.Errorf("%d resources read for checksums, %d in all", c.Read, known.opened.Load())
	}
}

// TestFullPackageIsKept: the layout of a package with as many resources as one is ever
// cut for is kept.
func TestFullPackageIsKept(t *testing.T) {
	if raceEnabled {
		t.Skip("takes long, and nothing is done at the same time")
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1 << 30}}, rshttp.Set{Provider: copiesOf(rsxml.MaxEntries/4*3, 20_000)})
	for range 2 {
		if res := do(t, src, "HEAD", wholePath); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	if c := src.Counters(); c.Planned != 1 || c.PlanBytes == 0 {
		t.Errorf("laid out %d times, %d bytes kept", c.Planned, c.PlanBytes)
	}
}

// TestSameStateSamePackage: replicas agree on every byte and on the entity tag.
func TestSameStateSamePackage(t *testing.T) {
	s := shelfOf(t, 20, 1000)
	one, other := newSource(t, nil, rshttp.Set{Provider: s}), newSource(t, nil, rshttp.Set{Provider: bare{s}})
	a, b := get(t, one, wholePath), get(t, newSource(t, nil, rshttp.Set{Provider: s}), wholePath)
	if a.Header.Get("ETag") != b.Header.Get("ETag") || !bytes.Equal([]byte(text(t, a)), []byte(text(t, b))) {
		t.Error("two Sources of one set send two packages")
	}
	if tag := get(t, other, wholePath).Header.Get("ETag"); tag == a.Header.Get("ETag") {
		t.Error("packages with other manifests have the same tag") // of another at
	}
}
