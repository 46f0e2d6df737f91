package rshttp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestDumpIndex: if there are more packages than one dump lists, an index has each of
// them once.
func TestDumpIndex(t *testing.T) {
	s := shelfOf(t, 95, 100)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 100}}, rshttp.Set{Provider: s})
	head, dumps := decode(t, src, dumpPath)
	if !head.Index || len(dumps) != 10 || linked(head.Links, "up") != base+"capabilitylist.xml" {
		t.Errorf("index %t of %d dumps, %+v", head.Index, len(dumps), head.Links)
	}
	if html := getPage(t, src, strings.TrimSuffix(dumpPath, ".xml")+".html"); !strings.Contains(html, "All 10 dumps") || !strings.Contains(html, ">Dump 1<") {
		t.Errorf("the page of the index is\n%s", html)
	}
	last, _ := decode(t, src, pathOf(dumps[9]))
	for what, at := range map[string]time.Time{"index": head.Metadata.At, "lastmod": dumps[9].LastMod, "dump": last.Metadata.At} {
		if !at.Equal(newYear.Add(96 * time.Second)) { // the first change is two seconds after newYear
			t.Errorf("%s: at %v", what, at)
		}
	}
	found := map[string]string{}
	for _, e := range packages(t, src) {
		for uri, content := range unpack(t, src, pathOf(e)) {
			if _, ok := found[uri]; ok {
				t.Errorf("%s is in two packages", uri)
			}
			found[uri] = content
		}
	}
	if len(found) != 95 {
		t.Errorf("%d resources of 95", len(found))
	}
	for path, want := range map[string]int{
		"/resourcesync/resourcedumps/YQ~.xml":   200, // any range of keys is as good
		"/resourcesync/resourcedumps/a.xml":     404,
		"/resourcesync/resourcedumps/Yg~YQ.xml": 404,
	} {
		if res := get(t, src, path); res.StatusCode != want {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if one := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 95, PackageSize: 100}}, rshttp.Set{Provider: s}); len(packages(t, one)) != 95 {
		t.Error("packages that fit into one dump are not all in it")
	} else if head, _ := decode(t, one, dumpPath); head.Index {
		t.Error("an index of one dump")
	}
}

// TestDumpIndexStability: a change affects the index and one of its dumps.
func TestDumpIndexStability(t *testing.T) {
	s := shelfOf(t, 95, 100)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 100}}, rshttp.Set{Provider: s})
	state := func() map[string]string {
		tags := map[string]string{dumpPath: get(t, src, dumpPath).Header.Get("ETag")}
		_, dumps := decode(t, src, dumpPath)
		for _, e := range dumps {
			tags[pathOf(e)] = get(t, src, pathOf(e)).Header.Get("ETag")
		}
		return tags
	}
	before := state()
	for _, change := range []func(){
		func() { s.put("000042.txt", noise(7, 100)) },
		func() { s.put("000042-a.txt", noise(8, 100)) }, // one package more
		func() {
			if err := s.Delete(t.Context(), "000042.txt"); err != nil {
				t.Error(err)
			}
		},
	} {
		change()
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
		if len(changed) != 2 || len(after) != len(before) {
			t.Errorf("changed are %v", slices.Sorted(slices.Values(changed)))
		}
		before = after
	}
}

// TestDumpIndexHoldsAll grows and shrinks a set at random. Each package is in exactly
// one dump, regardless of how packages and dumps are divided and of which replica
// serves which document.
func TestDumpIndexHoldsAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	s := newShelf(t)
	opts := func() *rshttp.Options {
		return &rshttp.Options{Division: rshttp.Division{PageSize: 3, PackageSize: 100}}
	}
	old := newSource(t, opts(), rshttp.Set{Provider: s})
	for range 15 {
		for range 40 {
			if key := fmt.Sprint(rnd.IntN(200)); rnd.IntN(2) == 0 {
				s.put(key, noise(1, rnd.IntN(90)))
			} else {
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
		}
		other := newSource(t, opts(), rshttp.Set{Provider: s}) // divides the set anew
		head, dumps := decode(t, old, dumpPath)
		if !head.Index {
			continue
		}
		var got []string
		for _, e := range dumps {
			_, listed := decode(t, other, pathOf(e))
			for _, e := range listed {
				got = append(got, e.Loc)
			}
		}
		var want []string
		for _, e := range packages(t, other) {
			want = append(want, e.Loc)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("by the index of one replica the other has the packages\n%s\nbut they are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestDumpIndexOfMany has more packages than one document can list.
func TestDumpIndexOfMany(t *testing.T) {
	needs.Time(t)
	if raceEnabled {
		t.Skip("takes long, and nothing is done at the same time")
	}
	const n = rsxml.MaxEntries + 10_000
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1}}, rshttp.Set{Provider: numbers(n), Opener: newShelf(t)})
	head, dumps := decode(t, src, dumpPath)
	if !head.Index || len(dumps) != n/10_000 {
		t.Fatalf("index %t of %d dumps", head.Index, len(dumps))
	}
	if _, listed := decode(t, src, pathOf(dumps[5])); len(listed) != 10_000 {
		t.Errorf("%d packages in a dump", len(listed))
	}
}

// TestChangeDumpIndex: if there are more packages than one dump lists, an index has
// several dumps. Closed dumps do not change.
func TestChangeDumpIndex(t *testing.T) {
	s := newShelf(t)
	change := func(n int) {
		for i := range n {
			s.put(fmt.Sprintf("%d.txt", i%7), noise(uint32(i), 300))
		}
	}
	change(95)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 20, PackageSize: 300}}, rshttp.Set{Provider: history{s}})
	seal(t, s.Set)
	state := func() (dumps []rsxml.Entry, tags map[string]string) {
		head, dumps := decode(t, src, changeDumpPath)
		if !head.Index || !head.Metadata.From.Equal(dumps[0].Metadata.From) {
			t.Fatalf("index %t, %+v", head.Index, head.Metadata)
		}
		tags = map[string]string{}
		for i, e := range dumps {
			res := get(t, src, pathOf(e))
			tags[e.Loc] = res.Header.Get("ETag")
			closed := i < len(dumps)-1
			if closed == e.Metadata.Until.IsZero() || closed && !e.Metadata.Until.Equal(dumps[i+1].Metadata.From) ||
				closed != strings.Contains(res.Header.Get("Cache-Control"), "immutable") || closed && res.Header.Get("Last-Modified") != "" {
				t.Errorf("dump %d of %d: %+v, %v", i, len(dumps), e.Metadata, res.Header)
			}
			part, listed := decode(t, src, pathOf(e))
			if part.Metadata.From != e.Metadata.From || part.Metadata.Until != e.Metadata.Until ||
				!listed[0].Metadata.From.Equal(e.Metadata.From) || closed && !listed[len(listed)-1].Metadata.Until.Equal(e.Metadata.Until) {
				t.Errorf("%s: %+v in the index, %+v in the dump, packages from %v", e.Loc, e.Metadata, part.Metadata, listed[0].Metadata.From)
			}
		}
		return dumps, tags
	}
	dumps, before := state()
	if len(dumps) != 5 {
		t.Errorf("%d dumps of 95 changes", len(dumps))
	}
	changes := 0
	for _, e := range changePackages(t, src) {
		changes += len(unpackChanges(t, src, pathOf(e)))
	}
	if changes != 95 {
		t.Errorf("%d changes in all packages", changes)
	}
	change(20)
	seal(t, s.Set)
	more, after := state()
	for _, e := range dumps[:len(dumps)-1] {
		if after[e.Loc] != before[e.Loc] {
			t.Errorf("%s was closed and has changed", e.Loc)
		}
	}
	if len(more) != len(dumps)+1 {
		t.Errorf("%d dumps, %d before", len(more), len(dumps))
	}
	for path, want := range map[string]int{
		"/resourcesync/changedumps/20250101T000000.000000000Z.xml": 410,
		"/resourcesync/changedumps/29990101T000000.000000000Z.xml": 404,
		"/resourcesync/changedumps/2026.xml":                       404,
	} {
		if res := get(t, src, path); res.StatusCode != want {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}
