package rshttp_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const changeDumpPath = "/resourcesync/changedump.xml"

// seal closes the package of the newest changes of set, as Run does when its period ends.
func seal(t testing.TB, set *memory.Set) {
	t.Helper()
	stat, err := set.Stat(t.Context(), resourcesync.Range{})
	if err == nil {
		err = set.Seal(t.Context(), stat.LastModified)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// firstChanges seals set and returns the path of its first package of changes, without
// its ending.
func firstChanges(t testing.TB, src *rshttp.Source, set *memory.Set) string {
	t.Helper()
	seal(t, set)
	return strings.TrimSuffix(pathOf(changePackages(t, src)[0]), ".zip")
}

func TestChangeDumpDocuments(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("one"))
	s.put("a.txt", []byte("two"))
	if err := s.Delete(t.Context(), "a.txt"); err != nil {
		t.Error(err)
	}
	src := newSource(t, nil, rshttp.Set{Provider: history{s}})
	empty := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<rs:md capability="changedump" from="2026-01-01T00:00:01.000000Z"/>
</urlset>
`
	if got := text(t, get(t, src, changeDumpPath)); got != empty {
		t.Errorf("before a package is closed: %s", got)
	}
	first := firstChanges(t, src, s.Set)
	pkg := text(t, get(t, src, first+".zip"))
	for _, tt := range []struct{ path, want string }{
		{changeDumpPath, `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<rs:md capability="changedump" from="2026-01-01T00:00:01.000000Z"/>
<url>
<loc>https://example.org/resourcesync/changedump/20260101T000001.000000000Z-20260101T000004.000000000Z.zip</loc>
<rs:md from="2026-01-01T00:00:01.000000Z" until="2026-01-01T00:00:04.000000Z" length="` + fmt.Sprint(len(pkg)) + `" type="application/zip"/>
<rs:ln rel="contents" href="https://example.org/resourcesync/changedump/20260101T000001.000000000Z-20260101T000004.000000000Z.xml" type="application/xml"/>
</url>
</urlset>
`},
		{first + ".xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
<rs:md capability="changedump-manifest" from="2026-01-01T00:00:01.000000Z" until="2026-01-01T00:00:04.000000Z"/>
<url>
<loc>https://example.org/a.txt</loc>
<lastmod>2026-01-01T00:00:00Z</lastmod>
<rs:md change="created" datetime="2026-01-01T00:00:02.000000Z" hash="sha-256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" length="3" type="text/plain" path="/changes/20260101T000002.000000000Z/https/example.org/a.txt"/>
</url>
<url>
<loc>https://example.org/a.txt</loc>
<lastmod>2026-01-01T00:00:00Z</lastmod>
<rs:md change="updated" datetime="2026-01-01T00:00:03.000000Z" hash="sha-256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3" length="3" type="text/plain" path="/changes/20260101T000003.000000000Z/https/example.org/a.txt"/>
</url>
<url>
<loc>https://example.org/a.txt</loc>
<lastmod>2026-01-01T00:00:04Z</lastmod>
<rs:md change="deleted" datetime="2026-01-01T00:00:04.000000Z"/>
</url>
</urlset>
`},
	} {
		res := get(t, src, tt.path)
		if got := text(t, res); got != tt.want {
			t.Errorf("%s: %s, got\n%s\nwant\n%s", tt.path, res.Status, got, tt.want)
		}
	}
	if c := text(t, get(t, src, "/resourcesync/capabilitylist.xml")); !strings.Contains(c, `resourcesync/changedump.xml`) {
		t.Errorf("not offered: %s", c)
	}
	if c := text(t, get(t, newSource(t, nil, rshttp.Set{Provider: s}), "/resourcesync/capabilitylist.xml")); strings.Contains(c, "changedump") {
		t.Errorf("offered without a ChangeOpener: %s", c)
	}
}

// changePackages returns the entries of the Change Dump.
func changePackages(t testing.TB, src *rshttp.Source) []rsxml.Entry {
	t.Helper()
	return dumped(t, src, changeDumpPath)
}

// TestChangePackages: packages keep within their size, and closed ones do not change
// when changes are added.
func TestChangePackages(t *testing.T) {
	s := newShelf(t)
	change := func(n int) {
		for i := range n {
			s.put(fmt.Sprintf("%d.txt", i%7), noise(uint32(i), 300))
		}
	}
	change(100)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 20, PackageSize: 1000}}, rshttp.Set{Provider: history{s}})
	state := func() (paths []string, tags map[string]string, closed int) {
		tags = map[string]string{}
		for _, e := range changePackages(t, src) {
			res := get(t, src, pathOf(e))
			if res.StatusCode != 200 {
				t.Fatalf("%s: %s", e.Loc, res.Status)
			}
			body := text(t, res)
			if n, _ := e.Metadata.Length.Bytes(); n != int64(len(body)) {
				t.Errorf("%s has %d bytes, not %d", e.Loc, len(body), n)
			}
			tags[pathOf(e)] = res.Header.Get("ETag")
			paths = append(paths, pathOf(e))
			if strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
				closed++
				if e.Metadata.Until.IsZero() {
					t.Errorf("%s is closed and open", e.Loc)
				}
			}
		}
		return paths, tags, closed
	}
	paths, before, closed := state()
	if len(before) < 100/3 || closed != len(before) {
		t.Errorf("%d packages of 100 changes, %d of them closed", len(before), closed)
	}
	change(30)
	_, after, _ := state()
	for _, path := range paths[:closed] {
		if after[path] != before[path] {
			t.Errorf("%s was closed and has changed", path)
		}
	}
	if len(after) < len(before)+8 {
		t.Errorf("%d packages, %d before", len(after), len(before))
	}
	for path, want := range map[string]int{
		"/resourcesync/changedump/20260101T000001.500000000Z.zip": 410, // within a package
		"/resourcesync/changedump/20250101T000000.000000000Z.xml": 410,
		"/resourcesync/changedump/29990101T000000.000000000Z.zip": 404,
		"/resourcesync/changedump/2026.zip":                       404,
		"/resourcesync/changedump/20260101T000001.000000000Z.zip": 410, // it is open, and not listed
	} {
		if res := get(t, src, path); res.StatusCode != want {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestLostVersion: if a version is missing, its package is refused, and no package
// replaces it.
func TestLostVersion(t *testing.T) {
	var log bytes.Buffer
	s := newShelf(t)
	s.put("a.txt", []byte("one"))
	s.put("a.txt", []byte("two"))
	s.keep(describe("a.txt", []byte("one")).Hashes[0], nil)
	src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: history{s}})
	first := firstChanges(t, src, s.Set)
	if !isBrokenOff(t, src, first+".zip") {
		t.Error("a package that lacks a version was sent")
	}
	if res := get(t, src, first+".zip"); res.StatusCode != 503 {
		t.Errorf("after the failed transfer: %s", res.Status)
	}
	if !strings.Contains(log.String(), "https://example.org/a.txt") {
		t.Errorf("the log does not say which: %s", log.String())
	}
	s.keep(describe("a.txt", []byte("one")).Hashes[0], []byte("1!!"))
	if res := get(t, src, first+".zip"); res.StatusCode != 503 {
		t.Error(res.Status)
	}
}

// sinceOnly limits the versions that can be opened to those after a time.
type sinceOnly struct {
	resourcesync.ChangeOpener
	from time.Time
}

func (s sinceOnly) Since(context.Context) (time.Time, error) { return s.from, nil }

// TestChangesWithoutBytes: a Change Dump begins where versions can be opened, however
// far back the journal goes.
func TestChangesWithoutBytes(t *testing.T) {
	s := newShelf(t)
	for i := range 100 {
		s.put(fmt.Sprintf("%d.txt", i), []byte("content"))
	}
	for name, pageSize := range map[string]int{"one window": 1000, "several": 7} {
		from := newYear.Add(50 * time.Second)
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: pageSize}}, rshttp.Set{Provider: s, ChangeOpener: sinceOnly{history{s}, from}})
		seal(t, s.Set)
		entries := changePackages(t, src)
		if !entries[0].Metadata.From.Equal(from) {
			t.Errorf("%s: the dump begins at %v", name, entries[0].Metadata.From)
		}
		n := 0
		for _, e := range entries {
			n += len(unpackChanges(t, src, pathOf(e)))
		}
		if n != 51 { // the first change is two seconds after newYear
			t.Errorf("%s: %d changes", name, n)
		}
	}
}

// unpackChanges returns the paths in the manifest of a package.
func unpackChanges(t testing.TB, src *rshttp.Source, path string) (paths []string) {
	t.Helper()
	if res := get(t, src, path); res.StatusCode != 200 {
		t.Fatalf("%s: %s", path, res.Status)
	}
	_, entries, err := rsxml.Decode(get(t, src, strings.TrimSuffix(path, ".zip")+".xml").Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		paths = append(paths, e.Metadata.Path)
	}
	return paths
}

// coarse is a journal of a host that gives many changes the same time.
type coarse []resourcesync.Change

func (c coarse) Since(context.Context) (time.Time, error) { return newYear.Add(-time.Second), nil }

func (c coarse) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, change := range c {
			if iv.Contains(change.Datetime) && !yield(change, nil) {
				return
			}
		}
	}
}

// TestSameInstant: several changes of one resource at one time are several
// bitstreams.
func TestSameInstant(t *testing.T) {
	h := history{newShelf(t)}
	var changes []resourcesync.Change
	for i := range 10 {
		content := []byte(fmt.Sprint("version ", i))
		r := describe("a.txt", content)
		h.keep(r.Hashes[0], content)
		changes = append(changes, resourcesync.Change{Type: resourcesync.Updated, Datetime: newYear.Add(time.Duration(i/5) * time.Second), Resource: r})
	}
	// A later change closes their package.
	later := changes[0]
	later.Datetime = newYear.Add(2 * time.Hour)
	changes = append(changes, later)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 10}}, rshttp.Set{Provider: wrong{}, Changer: coarse(changes), ChangeOpener: h})
	seen := map[string]bool{}
	entries := changePackages(t, src)
	if len(entries) != 2 {
		t.Errorf("%d packages", len(entries)) // one for each instant, which cannot be divided
	}
	for _, e := range entries {
		for _, path := range unpackChanges(t, src, pathOf(e)) {
			seen[path] = true
		}
	}
	if len(seen) != 10 || !seen["/changes/20260101T000001.000000000Z.5/https/example.org/a.txt"] {
		t.Errorf("%v", seen)
	}
}

// TestD16_ChangePackagesAreSmall: a package of a Change Dump holds no more resources
// than one of a Resource Dump, however small they are, so that many layouts fit into
// memory.
func TestD16_ChangePackagesAreSmall(t *testing.T) {
	s := newShelf(t)
	for i := range 2500 {
		s.put(fmt.Sprintf("%d.txt", i%50), noise(uint32(i), 10))
	}
	seal(t, s.Set)
	src := newSource(t, nil, rshttp.Set{Provider: history{s}})
	all := 0
	for _, e := range changePackages(t, src) {
		_, listed := decode(t, src, manifestOf(e))
		if len(listed) > 1024 {
			t.Errorf("%s holds %d changes", e.Loc, len(listed))
		}
		all += len(listed)
	}
	if all != 2500 {
		t.Errorf("%d changes", all)
	}
}

// TestChangeDumpIsCached: a Change Dump is rendered again only when a package is closed.
func TestChangeDumpIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf := shelfOf(t, 30, 10)
		time.Sleep(time.Until(newYear.AddDate(0, 0, 1)))
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: shelf, ChangeOpener: history{shelf}})
		for i := range uint64(3) {
			decode(t, src, "/resourcesync/changedump.xml")
			if c := src.Counters(); c.Rendered != 1 || c.Hits != i {
				t.Errorf("after %d requests: %d rendered, %d hits", i+1, c.Rendered, c.Hits)
			}
		}
	})
}
