package memory

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

func TestScan(t *testing.T) {
	failed := errors.New("connection reset")
	failing := func(resources ...resourcesync.Resource) iter.Seq2[resourcesync.Resource, error] {
		return func(yield func(resourcesync.Resource, error) bool) {
			listing(resources...)(yield)
			yield(resourcesync.Resource{}, failed)
		}
	}
	for _, tt := range []struct {
		name     string
		listing  iter.Seq2[resourcesync.Resource, error]
		fails    bool
		result   resourcesync.ScanResult
		contents string
		journal  string // after what the set begins with
	}{
		{
			"nothing new", listing(resource("b", "1"), resource("c", "1"), resource("a", "1")), false,
			resourcesync.ScanResult{Unchanged: 3}, "a1 b1 c1", "",
		},
		{
			"something of everything", listing(resource("d", "1"), resource("b", "2"), resource("a", "1")), false,
			resourcesync.ScanResult{Created: 1, Updated: 1, Deleted: 1, Unchanged: 1}, "a1 b2 d1", " c:d1 u:b2 d:c",
		},
		{
			"everything gone", listing(), false,
			resourcesync.ScanResult{Deleted: 3}, "", " d:a d:b d:c",
		},
		{
			"one named twice", listing(resource("a", "1"), resource("a", "2"), resource("b", "2"), resource("b", "1"), resource("c", "1")), false,
			resourcesync.ScanResult{Updated: 1, Unchanged: 4}, "a1 b2 c1", " u:b2",
		},
		{
			"interrupted", failing(resource("d", "1"), resource("b", "2")), true,
			resourcesync.ScanResult{Created: 1, Updated: 1}, "a1 b2 c1 d1", " c:d1 u:b2",
		},
		{
			"one that cannot be published", listing(resource("d", "1"), resource("", "1"), resource("e", "1")), true,
			resourcesync.ScanResult{Created: 1}, "a1 b1 c1 d1", " c:d1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(&Options{SetOptions: scan.SetOptions{MaxDelete: 1}})
			put(t, s, resource("a", "1"), resource("b", "1"), resource("c", "1"))
			result, err := s.Scan(t.Context(), tt.listing)
			if (err != nil) != tt.fails {
				t.Errorf("the error is %v", err)
			}
			if result != tt.result {
				t.Errorf("the result is %+v, want %+v", result, tt.result)
			}
			if got := contents(t, s); got != tt.contents {
				t.Errorf("the set is %q, want %q", got, tt.contents)
			}
			if got, want := journal(t, s), "c:a1 c:b1 c:c1"+tt.journal; got != want {
				t.Errorf("the journal is %q, want %q", got, want)
			}
		})
	}
	if _, err := New(nil).Scan(t.Context(), failing()); err != failed {
		t.Errorf("the error is %v, want %v", err, failed)
	}
}

// TestScanCanceled checks that a scan whose context is done deletes nothing, even
// if the listing ends as if it were complete.
func TestScanCanceled(t *testing.T) {
	for _, tt := range []struct {
		name string
		rest []resourcesync.Resource
	}{
		{"before the end", []resourcesync.Resource{resource("c", "1")}},
		{"at the end", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(nil)
			put(t, s, resource("a", "1"))
			ctx, cancel := context.WithCancel(t.Context())
			result, err := s.Scan(ctx, func(yield func(resourcesync.Resource, error) bool) {
				yield(resource("b", "1"), nil)
				cancel()
				listing(tt.rest...)(yield)
			})
			if !errors.Is(err, context.Canceled) || (result != resourcesync.ScanResult{Created: 1}) {
				t.Errorf("Scan: %+v, %v", result, err)
			}
			if got, want := contents(t, s), "a1 b1"; got != want {
				t.Errorf("the set is %q, want %q", got, want)
			}
		})
	}
}

func TestScanTwiceAtOnce(t *testing.T) {
	s := New(&Options{SetOptions: scan.SetOptions{MaxDelete: 1}})
	_, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
		if _, err := s.Scan(t.Context(), listing()); !errors.Is(err, resourcesync.ErrScanning) {
			t.Errorf("a second scan: the error is %v", err)
		}
		yield(resource("a", "1"), nil)
	})
	if err != nil || contents(t, s) != "a1" {
		t.Errorf("the first scan: %v, %q", err, contents(t, s))
	}
	// A listing that panics must not block the next one.
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of a listing is lost")
			}
		}()
		s.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) { panic("bug") })
	}()
	if result, err := s.Scan(t.Context(), listing()); err != nil || result.Deleted != 1 {
		t.Errorf("the next scan: %+v, %v", result, err)
	}
}

// TestWritesDuringScan checks that resources put during a scan take precedence over the
// listing, which may be older.
func TestWritesDuringScan(t *testing.T) {
	s := New(nil)
	put(t, s, resource("a", "1"), resource("b", "1"))
	result, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
		put(t, s, resource("new", "1"), resource("a", "2"), resource("b", "1"))
		yield(resource("a", "1"), nil)
		if err := s.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
	if err != nil || (result != resourcesync.ScanResult{Unchanged: 1}) {
		t.Errorf("Scan: %+v, %v", result, err)
	}
	if got, want := contents(t, s), "b1 new1"; got != want {
		t.Errorf("the set is %q, want %q", got, want)
	}
}

func TestAwaitScan(t *testing.T) {
	s := New(&Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	notReady := func(when string) {
		t.Helper()
		for name, err := range methods(t.Context(), s) {
			if !errors.Is(err, resourcesync.ErrNotReady) {
				t.Errorf("%s, %s: the error is %v", when, name, err)
			}
		}
		if covers(t, s, "https://example.org/a") {
			t.Errorf("%s: a URL is covered", when)
		}
	}
	notReady("in the beginning")
	put(t, s, resource("a", "1"), resource("b", "1"))
	if err := s.Delete(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	notReady("with a resource")
	if r := known(t, s, "a"); r.Stamp != "1" || s.Len() != 1 {
		t.Errorf("Known: %+v of %d", r, s.Len())
	}
	_, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
		yield(resource("c", "1"), nil)
		notReady("during a scan")
		yield(resourcesync.Resource{}, errors.New("connection reset"))
	})
	if err == nil {
		t.Error("a scan that failed has no error")
	}
	notReady("after a scan that failed")

	result, err := s.Scan(t.Context(), listing(resource("a", "1"), resource("d", "1")))
	if want := (resourcesync.ScanResult{Created: 1, Deleted: 1, Unchanged: 1}); err != nil || result != want {
		t.Errorf("Scan: %+v, %v, want %+v", result, err, want)
	}
	if got, want := contents(t, s), "a1 d1"; got != want {
		t.Errorf("the set is %q, want %q", got, want)
	}
	if got := journal(t, s); got != "" {
		t.Errorf("the baseline has been journalled: %q", got)
	}
	since, err := s.Since(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []resourcesync.Range{{}, {From: "a", To: "b"}, {From: "b", To: "c"}} {
		if st, err := s.Stat(t.Context(), r); err != nil || !st.LastModified.Equal(since) {
			t.Errorf("Stat(%v): %+v, %v, but the journal begins at %v", r, st, err, since)
		}
	}
	if !covers(t, s, "https://example.org/a") {
		t.Error("a resource is not covered")
	}
	put(t, s, resource("e", "1"))
	if got, want := journal(t, s), "c:e1"; got != want {
		t.Errorf("the journal is %q, want %q", got, want)
	}
	for c, err := range s.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil || !c.Datetime.After(since) {
			t.Errorf("%+v, %v is not after the baseline of %v", c, err, since)
		}
	}
}

// TestDeletedDuringScan checks that resources deleted during a scan are not published
// again by a listing that is older.
func TestDeletedDuringScan(t *testing.T) {
	for _, await := range []bool{false, true} {
		s := New(&Options{SetOptions: scan.SetOptions{AwaitScan: await}})
		put(t, s, resource("a", "1"), resource("b", "1"))
		result, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			if err := s.Delete(t.Context(), "b"); err != nil {
				t.Error(err)
			}
			for _, key := range []string{"a", "b", "c"} {
				if !yield(resource(key, "1"), nil) {
					return
				}
			}
		})
		if err != nil || result != (resourcesync.ScanResult{Created: 1, Unchanged: 2}) {
			t.Errorf("%+v, %v", result, err)
		}
		if got := contents(t, s); got != "a1 c1" {
			t.Errorf("the set is %q", got)
		}
		if n := s.state.items.Len() - s.Len(); await && n != 0 {
			t.Errorf("%d deletions are kept that no journal has", n)
		}
	}
}

// TestScanRanges deletes in the ranges only, and keeps the rules of a scan.
func TestScanRanges(t *testing.T) {
	below := func(folder string) resourcesync.Range {
		return resourcesync.Range{From: folder + "/", To: folder + "0"}
	}
	s := New(&Options{SetOptions: scan.SetOptions{AwaitScan: true, MaxDelete: 1}})
	if _, err := s.ScanRanges(t.Context(), []resourcesync.Range{{}}, listing()); !errors.Is(err, resourcesync.ErrNotReady) {
		t.Errorf("before the first scan: %v", err)
	}
	if _, err := s.Scan(t.Context(), listing(resource("a/1", "1"), resource("a/2", "1"), resource("b/1", "1"), resource("b/2", "1"), resource("c", "1"))); err != nil {
		t.Fatal(err)
	}
	broken := func(yield func(resourcesync.Resource, error) bool) {
		yield(resourcesync.Resource{}, &resourcesync.UnreadableError{Keys: resourcesync.Range{From: "b/2"}, Err: errors.New("no")})
	}
	unchanged := func(yield func(resourcesync.Resource, error) bool) {
		_ = yield(resourcesync.Resource{Key: "b/2"}, resourcesync.ErrUnchanged) && yield(resourcesync.Resource{Key: "b/3"}, resourcesync.ErrUnchanged)
	}
	for _, step := range []struct {
		ranges   []resourcesync.Range
		listing  iter.Seq2[resourcesync.Resource, error]
		result   resourcesync.ScanResult
		contents string
		fails    bool
	}{
		{nil, listing(), resourcesync.ScanResult{}, "a/11 a/21 b/11 b/21 c1", false},
		{[]resourcesync.Range{below("a")}, listing(resource("a/1", "2"), resource("a/3", "1")),
			resourcesync.ScanResult{Created: 1, Updated: 1, Deleted: 1}, "a/12 a/31 b/11 b/21 c1", false},
		{[]resourcesync.Range{below("a")}, listing(resource("c", "2")), resourcesync.ScanResult{}, "a/12 a/31 b/11 b/21 c1", true},
		{[]resourcesync.Range{below("b"), {From: "a/2", To: "a/4"}}, broken,
			resourcesync.ScanResult{Deleted: 2, Unreadable: 1}, "a/12 b/21 c1", false},
		{[]resourcesync.Range{below("a"), below("b")}, unchanged, resourcesync.ScanResult{Unchanged: 2, Deleted: 1}, "b/21 c1", false},
	} {
		result, err := s.ScanRanges(t.Context(), step.ranges, step.listing)
		if (err != nil) != step.fails || result != step.result || contents(t, s) != step.contents {
			t.Errorf("%q: %+v, %v, %q, expected %+v, %q", step.ranges, result, err, contents(t, s), step.result, step.contents)
		}
	}
}

// TestScanRangesModel compares a set with a model, after partial and complete scans.
func TestScanRangesModel(t *testing.T) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 1))
	s := New(&Options{SetOptions: scan.SetOptions{MaxDelete: 1}})
	site, model := map[string]string{}, map[string]string{}
	key := func() string { return strconv.Itoa(100 + random.IntN(300)) }
	for range 300 {
		for range random.IntN(40) {
			site[key()] = strconv.Itoa(random.IntN(3))
			delete(site, key())
		}
		var ranges []resourcesync.Range
		for range random.IntN(4) {
			from := key()
			ranges = append(ranges, resourcesync.Range{From: from, To: []string{"", from + "\x00", key()}[random.IntN(3)]})
		}
		var found []resourcesync.Resource
		for _, in := range ranges {
			for key := range model {
				if _, there := site[key]; in.Contains(key) && !there {
					delete(model, key)
				}
			}
			for key, stamp := range site {
				if in.Contains(key) {
					found = append(found, resource(key, stamp))
					model[key] = stamp
				}
			}
		}
		if _, err := s.ScanRanges(t.Context(), ranges, listing(found...)); err != nil {
			t.Fatal(err)
		}
		var want []string
		for key, stamp := range model {
			want = append(want, key+stamp)
		}
		slices.Sort(want)
		if got := contents(t, s); got != strings.Join(want, " ") {
			t.Fatalf("%q: the set is %q, expected %q", ranges, got, want)
		}
	}
}

// TestScanRangesGuard holds the deletions of a part while a complete scan has held some.
func TestScanRangesGuard(t *testing.T) {
	var all []resourcesync.Resource
	for i := range 20 {
		all = append(all, resource(strconv.Itoa(100+i), "1"))
	}
	s := New(nil)
	part := []resourcesync.Range{{From: "110"}}
	for _, step := range []struct {
		ranges  []resourcesync.Range
		listing []resourcesync.Resource
		want    resourcesync.ScanResult
	}{
		{nil, all, resourcesync.ScanResult{Created: 20}},
		{part, all[10:18], resourcesync.ScanResult{Unchanged: 8, Deleted: 2}},
		{part, all[10:12], resourcesync.ScanResult{Unchanged: 2, Held: 6}},
		{part, all[10:17], resourcesync.ScanResult{Unchanged: 7, Held: 1}},
		{nil, all[:17], resourcesync.ScanResult{Unchanged: 17, Deleted: 1}},
	} {
		got, err := s.ScanRanges(t.Context(), step.ranges, listing(step.listing...))
		if step.ranges == nil {
			got, err = s.Scan(t.Context(), listing(step.listing...))
		}
		got.HeldSince = time.Time{}
		if err != nil || got != step.want {
			t.Errorf("%+v, %v, expected %+v", got, err, step.want)
		}
	}
}
