package rshttp_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestDumpStability: a change affects its package and the dump, and nothing else that a
// Destination has.
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
		for deadline := time.Now().Add(needs.Patience); ; time.Sleep(5 * time.Millisecond) {
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
			for deadline := time.Now().Add(needs.Patience); listed != n+30 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
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

// TestDumpLeftOut: a resource that a package cannot hold is left out and breaks
// nothing.
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

// TestReadOnce: without a Checksummer a resource is read once for its checksum, and
// again only if it has changed or a read has failed.
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

// TestFullPackageIsKept: the layout of a package with the maximum number of resources
// is cached.
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
