package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/scan"
)

// within returns the entries of all with keys in ranges.
func within(all map[string]int, ranges ...resourcesync.Range) (found []resourcesync.Resource) {
	for key, version := range all {
		if slices.ContainsFunc(ranges, func(r resourcesync.Range) bool { return r.Contains(key) }) {
			found = append(found, small(key, version))
		}
	}
	return found
}

// below is the range of a folder.
func below(folder string) resourcesync.Range {
	return resourcesync.Range{From: folder + "/", To: folder + "0"}
}

func single(key string) resourcesync.Range {
	return resourcesync.Range{From: key, To: key + "\x00"}
}

// TestScanRanges deletes in the ranges only, and keeps the rules of a scan.
func TestScanRanges(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{AwaitScan: true, MaxDelete: 1})
		if _, err := set.ScanRanges(t.Context(), []resourcesync.Range{{}}, listing()); !errors.Is(err, resourcesync.ErrNotReady) {
			t.Errorf("before the first scan: %v", err)
		}
		if _, err := set.Scan(t.Context(), listing(files(10, 10)...)); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name    string
			ranges  []resourcesync.Range
			listing iter.Seq2[resourcesync.Resource, error]
			want    resourcesync.ScanResult
			fails   string
		}{
			{"no ranges", []resourcesync.Range{{From: "b", To: "a"}}, listing(), resourcesync.ScanResult{}, ""},
			{"a folder", []resourcesync.Range{below("a")}, listing(append(files(7, 0), small("a/000", 2), small("a/new", 1))...),
				resourcesync.ScanResult{Created: 1, Unchanged: 8, Deleted: 3}, ""},
			{"files", []resourcesync.Range{single("b/001"), single("b/002"), single("c")}, listing(small("b/002", 2), small("c", 1)),
				resourcesync.ScanResult{Created: 1, Updated: 1, Deleted: 1}, ""},
			{"outside", []resourcesync.Range{below("a")}, listing(small("a/000", 1), small("a0", 1)), resourcesync.ScanResult{Unchanged: 1}, `"a0" is not in`},
			{"an unreadable folder", []resourcesync.Range{below("b"), single("c")}, unreadable(files(0, 1), resourcesync.Range{From: "b/005"}),
				resourcesync.ScanResult{Unchanged: 1, Deleted: 3, Unreadable: 6}, ""},
			{"overlapping", []resourcesync.Range{{From: "b/008", To: "b0"}, below("b"), {From: "b/", To: "b/003"}}, listing(files(0, 1)...),
				resourcesync.ScanResult{Unchanged: 1, Deleted: 5}, ""},
		} {
			got, err := set.ScanRanges(t.Context(), step.ranges, step.listing)
			if got != step.want || (err == nil) != (step.fails == "") || err != nil && !strings.Contains(err.Error(), step.fails) {
				t.Errorf("%s: %+v, %v, expected %+v", step.name, got, err, step.want)
			}
			checkBlocks(t, set)
		}
		var left []string
		for key := range articlesOf(t, set) {
			left = append(left, key)
		}
		slices.Sort(left)
		if want := "a/000 a/001 a/002 a/003 a/004 a/005 a/006 a/new b/000 c"; strings.Join(left, " ") != want {
			t.Errorf("left are %q, expected %s", left, want)
		}
	})
}

// TestScanRangesGuard holds too many deletions of a part, and all of them while a
// complete scan has held some.
func TestScanRangesGuard(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{MaxDelete: 0.25})
		if _, err := set.Scan(t.Context(), listing(files(60, 60)...)); err != nil {
			t.Fatal(err)
		}
		part := func(name string, want resourcesync.ScanResult, folder string, resources ...resourcesync.Resource) {
			t.Helper()
			got, err := set.ScanRanges(t.Context(), []resourcesync.Range{below(folder)}, listing(resources...))
			got.HeldSince = time.Time{}
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v, expected %+v", name, got, err, want)
			}
		}
		part("a few", resourcesync.ScanResult{Unchanged: 45, Deleted: 15}, "a", files(45, 0)...)
		part("too many together", resourcesync.ScanResult{Unchanged: 30, Held: 30}, "b", files(0, 30)...)
		part("while some are held", resourcesync.ScanResult{Unchanged: 44, Held: 1}, "a", files(44, 0)...)
		part("none, while some are held", resourcesync.ScanResult{Unchanged: 45}, "a", files(45, 0)...)
		if kept, err := set.Kept(t.Context()); err != nil || kept.Held != 30 {
			t.Errorf("%+v, %v", kept, err)
		}
		if _, err := set.ConfirmDeletions(t.Context()); err != nil {
			t.Fatal(err)
		}
		part("confirmed, for a complete scan", resourcesync.ScanResult{Unchanged: 30, Held: 30}, "b", files(0, 30)...)
		if got, err := set.Scan(t.Context(), listing(files(45, 30)...)); err != nil || got.Deleted != 30 {
			t.Errorf("%+v, %v", got, err)
		}
		part("afterwards", resourcesync.ScanResult{Unchanged: 29, Deleted: 1}, "b", files(0, 29)...)
		if kept, err := set.Kept(t.Context()); err != nil || kept != (scan.Kept{}) {
			t.Errorf("%+v, %v", kept, err)
		}
	})
}

// TestScanRangesModel compares sets with a model, after partial and complete scans of a
// website that changes between them, and compares the journal with the changes of the
// scans.
func TestScanRangesModel(t *testing.T) {
	steps := setting("RESOURCESYNC_TORTURE", 2_000) / 20
	eachEngine(t, func(t *testing.T, db database) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 1))
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{MaxDelete: 1})
		site, model := map[string]int{}, map[string]int{}
		key := func() string {
			return fmt.Sprintf("%c/%c/%02d", 'a'+random.IntN(3), 'a'+random.IntN(3), random.IntN(40))
		}
		for step := range steps {
			for range random.IntN(60) {
				if random.IntN(3) == 0 {
					delete(site, key())
				} else {
					site[key()] = random.IntN(3)
				}
			}
			var ranges []resourcesync.Range
			for range random.IntN(4) {
				switch k := key(); random.IntN(4) {
				case 0:
					ranges = append(ranges, below(k[:1]))
				case 1:
					ranges = append(ranges, below(k[:3]))
				case 2:
					ranges = append(ranges, resourcesync.Range{From: key(), To: key()})
				default:
					ranges = append(ranges, single(k))
				}
			}
			want := resourcesync.ScanResult{}
			scan := func(l iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
				return set.ScanRanges(t.Context(), ranges, l)
			}
			if random.IntN(8) == 0 {
				ranges, scan = []resourcesync.Range{{}}, func(l iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
					return set.Scan(t.Context(), l)
				}
			}
			found := within(site, ranges...)
			for _, r := range within(model, ranges...) {
				if _, there := site[r.Key]; !there {
					delete(model, r.Key)
					want.Deleted++
				}
			}
			for _, r := range found {
				was, there := model[r.Key]
				switch {
				case !there:
					want.Created++
				case was != site[r.Key]:
					want.Updated++
				default:
					want.Unchanged++
				}
				model[r.Key] = site[r.Key]
			}
			got, err := scan(listing(found...))
			if err != nil || got != want {
				t.Fatalf("step %d, %q: %+v, %v, expected %+v", step, ranges, got, err, want)
			}
			if !maps.Equal(articlesOf(t, set), versionsOf(model)) {
				t.Fatalf("step %d, %q: the set is not the model", step, ranges)
			}
		}
		checkBlocks(t, set)
		checkJournal(t, set)
	})
}

func versionsOf(model map[string]int) map[string]string {
	all := map[string]string{}
	for key, version := range model {
		all[key] = small(key, version).Type
	}
	return all
}

// checkJournal replays the journal: each change must be valid, and the result must be
// the set.
func checkJournal(t *testing.T, set *Set) {
	t.Helper()
	content := map[string]string{}
	for c, err := range set.Changes(context.Background(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		key := c.Resource.Key
		was, there := content[key]
		if there == (c.Type == resourcesync.Created) || c.Type == resourcesync.Updated && was == c.Resource.Type {
			t.Errorf("%s %s %s, which was %q", c.Type, key, c.Resource.Type, was)
		}
		content[key] = c.Resource.Type
		if c.Type == resourcesync.Deleted {
			delete(content, key)
		}
	}
	if !maps.Equal(content, articlesOf(t, set)) {
		t.Error("the journal does not lead to the set")
	}
}

// A tree is a website that changes while it is scanned.
type tree struct {
	mu    sync.Mutex
	files map[string]int
	dirty []resourcesync.Range
}

// change changes some files, and notes where.
func (tr *tree) change(random *rand.Rand) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for range 1 + random.IntN(3) {
		folder := fmt.Sprintf("%c/%c", 'a'+random.IntN(3), 'a'+random.IntN(3))
		key := fmt.Sprintf("%s/%02d", folder, random.IntN(30))
		if random.IntN(3) == 0 {
			delete(tr.files, key)
		} else {
			tr.files[key]++
		}
		if random.IntN(2) == 0 {
			tr.dirty = append(tr.dirty, single(key))
		} else {
			tr.dirty = append(tr.dirty, below(folder))
		}
	}
}

// take returns the ranges in which files have changed since the last call.
func (tr *tree) take() []resourcesync.Range {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	dirty := tr.dirty
	tr.dirty = nil
	return dirty
}

// list lists the current state of ranges, one folder after the other.
func (tr *tree) list(ranges []resourcesync.Range, pause time.Duration) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for folder := range 9 {
			tr.mu.Lock()
			var found []resourcesync.Resource
			for _, r := range within(tr.files, ranges...) {
				if strings.HasPrefix(r.Key, fmt.Sprintf("%c/%c/", 'a'+folder/3, 'a'+folder%3)) {
					found = append(found, r)
				}
			}
			tr.mu.Unlock()
			time.Sleep(pause)
			for _, r := range found {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// TestScanRangesMeanwhile changes a website during complete scans with slow listings, and
// scans the changed parts. In the end, the set equals the website, without a final
// complete scan.
func TestScanRangesMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{MaxDelete: 1})
		site := &tree{files: map[string]int{}}
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(needs.Size(500, 2000))*time.Millisecond)
		defer stop()
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := set.Scan(t.Context(), site.list([]resourcesync.Range{{}}, 5*time.Millisecond))
				if err != nil && !errors.Is(err, resourcesync.ErrScanning) {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
		wg.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), 2))
			for ctx.Err() == nil {
				site.change(random)
				time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond)
			}
		})
		var dirty []resourcesync.Range
		part := func() error {
			dirty = append(dirty, site.take()...)
			_, err := set.ScanRanges(t.Context(), dirty, site.list(dirty, 0))
			if err == nil {
				dirty = nil
			}
			return err
		}
		done := 0
		for ctx.Err() == nil {
			switch err := part(); {
			case err == nil:
				done++
			case !errors.Is(err, resourcesync.ErrScanning):
				t.Fatal(err)
			default:
				time.Sleep(time.Millisecond)
			}
		}
		wg.Wait()
		if err := part(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(articlesOf(t, set), versionsOf(site.files)) {
			t.Errorf("the set is not the website after %d partial scans", done)
		}
		checkBlocks(t, set)
		checkJournal(t, set)
	})
}

// TestScanRangesRenamed renames a large folder while a complete scan runs. The complete
// scan finds the new names and a partial scan that the old ones are missing. That is no
// reason to hold their deletions until they are confirmed.
func TestScanRangesRenamed(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{MaxDelete: 0.25})
		if _, err := set.Scan(t.Context(), listing(files(60, 40)...)); err != nil {
			t.Fatal(err)
		}
		var renamed []resourcesync.Resource
		for i := range 60 {
			renamed = append(renamed, small(fmt.Sprintf("c/%03d", i), 1))
		}
		now := append(files(0, 40), renamed...)
		scan := func(listing iter.Seq2[resourcesync.Resource, error]) resourcesync.ScanResult {
			t.Helper()
			got, err := set.Scan(t.Context(), listing)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		scan(func(yield func(resourcesync.Resource, error) bool) {
			for i, r := range now {
				if i == len(now)-1 {
					time.Sleep(flushInterval + time.Millisecond)
				}
				if !yield(r, nil) {
					return
				}
			}
			got, err := set.ScanRanges(t.Context(), []resourcesync.Range{below("a"), below("c")}, listing(renamed...))
			if err != nil || got.Held+got.Deleted != 60 {
				t.Errorf("partial: %+v, %v", got, err)
			}
		})
		if got := scan(listing(now...)); got.Held != 0 || len(articlesOf(t, set)) != 100 {
			t.Errorf("complete: %+v, %d resources", got, len(articlesOf(t, set)))
		}
	})
}
