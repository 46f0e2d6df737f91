package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

func small(key string, version int) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "https://example.org/" + key, Type: fmt.Sprintf("version/%d", version)}
}

// numbered returns n resources. Those whose number is divisible by change have another
// version.
func numbered(n, change int) []resourcesync.Resource {
	var all []resourcesync.Resource
	for i := range n {
		version := 1
		if change > 0 && i%change == 0 {
			version = 2
		}
		all = append(all, small(fmt.Sprintf("%05d", i*7919%n), version))
	}
	return all
}

func TestScan(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) { testScan(t, db, db.open(t, nil)) })
}

// TestScanSpilled is TestScan with more keys than memory holds.
func TestScanSpilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		store.maxSeen = 500
		testScan(t, db, store)
	})
}

func testScan(t *testing.T, db database, store *Store) {
	const n = 1100
	set := store.mustSet(t, "", nil)
	scan := func(want resourcesync.ScanResult, resources ...resourcesync.Resource) {
		t.Helper()
		got, err := set.Scan(t.Context(), listing(resources...))
		if err != nil || got != want {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
		content := map[string]string{}
		for _, r := range resources {
			if content[r.Key] == "" {
				content[r.Key] = r.Type
			}
		}
		if got := articlesOf(t, set); !maps.Equal(got, content) {
			t.Errorf("the set has %d resources, unlike the listing with %d", len(got), len(content))
		}
		checkBlocks(t, set)
	}
	all := numbered(n, 0)
	scan(resourcesync.ScanResult{Created: n}, all...)
	before := written(t, db, set)
	scan(resourcesync.ScanResult{Unchanged: n}, all...)
	if after := written(t, db, set); after != before {
		t.Errorf("a scan that found nothing new has written to the store: %d, %d", before, after)
	}
	scan(resourcesync.ScanResult{Unchanged: n / 2, Updated: n / 2}, numbered(n, 2)...)
	scan(resourcesync.ScanResult{Unchanged: n + n/2, Updated: n / 2}, append(all, numbered(n, 2)...)...) // of the same key the first holds
	scan(resourcesync.ScanResult{Unchanged: 200, Deleted: n - 100}, append(all[:100:100], numbered(n, 1)[:100]...)...)
	scan(resourcesync.ScanResult{Deleted: 100})
	scan(resourcesync.ScanResult{Created: n}, all...)
	scan(resourcesync.ScanResult{Unchanged: n + 1}, append(all[:n:n], all[n-1])...) // twice in one batch

	// The scanner knows most resources itself.
	known := func(want resourcesync.ScanResult, unchanged, others []resourcesync.Resource) {
		t.Helper()
		got, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for _, r := range unchanged {
				if !yield(resourcesync.Resource{Key: r.Key}, resourcesync.ErrUnchanged) {
					return
				}
			}
			listing(others...)(yield)
		})
		if err != nil || got != want {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
		checkBlocks(t, set)
	}
	before = written(t, db, set)
	known(resourcesync.ScanResult{Unchanged: n}, all, nil)
	known(resourcesync.ScanResult{Unchanged: n + 1}, append(all[:n:n], all[0]), nil)
	if after := written(t, db, set); after != before {
		t.Errorf("a scan that found nothing new has written to the store: %d, %d", before, after)
	}
	known(resourcesync.ScanResult{Unchanged: n - 2, Created: 1, Deleted: 2}, all[2:], []resourcesync.Resource{small("new", 1)})
	known(resourcesync.ScanResult{Unchanged: n, Deleted: 1}, append(all[2:n:n], small("other", 1), small("another", 1)), nil)
	if articles := articlesOf(t, set); len(articles) != n-2 || articles["other"] != "" {
		t.Errorf("%d resources are left, want %d", len(articles), n-2)
	}
}

func TestScanAwaited(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		set := store.mustSet(t, "", &scan.SetOptions{AwaitScan: true})
		notReady := func(what string, err error) {
			t.Helper()
			if err != resourcesync.ErrNotReady {
				t.Errorf("%s: %v, expected ErrNotReady", what, err)
			}
		}
		if err := set.Put(t.Context(), small("put", 1), small("deleted", 1)); err != nil {
			t.Fatal(err)
		}
		if err := set.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		fail := errors.New("interrupted")
		_, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			if yield(small("a", 1), nil) {
				yield(resourcesync.Resource{}, fail)
			}
		})
		if !errors.Is(err, fail) {
			t.Errorf("the scan ended with %v", err)
		}
		for _, err := range set.Resources(t.Context(), resourcesync.Range{}) {
			notReady("Resources", err)
		}
		for _, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
			notReady("Changes", err)
		}
		_, err = set.Stat(t.Context(), resourcesync.Range{})
		notReady("Stat", err)
		_, err = set.Stat(t.Context(), resourcesync.Range{To: "b"})
		notReady("Stat of a range", err)
		_, err = set.Cuts(t.Context(), nil, 10)
		notReady("Cuts", err)
		_, err = set.Since(t.Context())
		notReady("Since", err)
		_, err = set.Windows(t.Context(), 10)
		notReady("Windows", err)
		if r, found, err := set.Get(t.Context(), "a"); !found || err != nil || !r.Equal(small("a", 1)) {
			t.Errorf("Get: %+v, %t, %v", r, found, err)
		}

		result, err := set.Scan(t.Context(), listing(small("a", 1), small("b", 1)))
		if want := (resourcesync.ScanResult{Created: 1, Deleted: 1, Unchanged: 1}); err != nil || result != want {
			t.Fatalf("%+v, %v, expected %+v", result, err, want)
		}
		st, err := set.Stat(t.Context(), resourcesync.Range{})
		if err != nil || st.Count != 2 {
			t.Errorf("%+v, %v", st, err)
		}
		since, err := set.Since(t.Context())
		if err != nil || !since.Equal(st.LastModified) {
			t.Errorf("the journal begins at %v, %v, expected %v", since, err, st.LastModified)
		}
		for c := range set.Changes(t.Context(), resourcesync.Interval{}) {
			t.Errorf("the baseline is journalled: %+v", c)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_resource WHERE body IS NULL"); n != 0 {
			t.Errorf("%d deletions are remembered that no journal has", n)
		}
		// Another process finds it ready, regardless of its options.
		other := db.open(t, nil).mustSet(t, "", &scan.SetOptions{AwaitScan: true})
		if _, err := other.Stat(t.Context(), resourcesync.Range{}); err != nil {
			t.Error(err)
		}
		checkBlocks(t, set)
	})
}

// TestKnown requests more keys than the driver sends at once, including unknown ones.
func TestKnown(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "", &scan.SetOptions{AwaitScan: true})
		linked := small("linked", 1)
		linked.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: "00"}}
		want := append(numbered(1100, 0), resourcesync.Resource{}, linked, small("last", 1))
		if err := set.Put(t.Context(), append(want[:1100:1100], want[1101:]...)...); err != nil {
			t.Fatal(err)
		}
		if err := store.mustSet(t, "other", nil).Put(t.Context(), small("missing", 1)); err != nil {
			t.Fatal(err)
		}
		keys := make([]string, len(want))
		for i, r := range want {
			keys[i] = r.Key
		}
		keys[1100] = "missing"
		known, err := set.Known(t.Context(), keys)
		if err != nil || !slices.EqualFunc(known, want, resourcesync.Resource.Equal) {
			t.Errorf("%d of %d resources, %v", len(known), len(want), err)
		}
		if known, err := set.Known(t.Context(), nil); err != nil || len(known) != 0 {
			t.Errorf("%v, %v", known, err)
		}
	})
}

// TestScanIncomplete: an incomplete listing deletes nothing.
func TestScanIncomplete(t *testing.T) {
	fail := errors.New("fail")
	for name, tt := range map[string]struct {
		resources func(cancel func()) iter.Seq2[resourcesync.Resource, error]
		want      string
	}{
		"error": {func(func()) iter.Seq2[resourcesync.Resource, error] {
			return func(yield func(resourcesync.Resource, error) bool) { yield(resourcesync.Resource{}, fail) }
		}, "fail"},
		"canceled": {func(cancel func()) iter.Seq2[resourcesync.Resource, error] {
			return func(yield func(resourcesync.Resource, error) bool) { cancel() }
		}, "context canceled"},
		"no key": {func(func()) iter.Seq2[resourcesync.Resource, error] {
			return listing(resourcesync.Resource{URI: "https://example.org/"})
		}, "no key"},
		"long key": {func(func()) iter.Seq2[resourcesync.Resource, error] {
			return listing(small(strings.Repeat("k", resourcesync.MaxKeyLength+1), 1))
		}, "721 bytes"},
		"bad URI": {func(func()) iter.Seq2[resourcesync.Resource, error] {
			return listing(resourcesync.Resource{Key: "k", URI: "relative"})
		}, "not absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, db database) {
				set := db.open(t, nil).mustSet(t, "", nil)
				if err := set.Put(t.Context(), small("a", 1), small("b", 1)); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result, err := set.Scan(ctx, tt.resources(cancel))
				if err == nil || !strings.Contains(err.Error(), tt.want) || result != (resourcesync.ScanResult{}) {
					t.Errorf("%+v, %v", result, err)
				}
				if errors.Is(err, fail) && err != fail {
					t.Errorf("an error of the listing as if of the store: %v", err)
				}
				if got := articlesOf(t, set); len(got) != 2 {
					t.Errorf("left are %v", got)
				}
				// The connection can still be used.
				if _, err := set.Scan(t.Context(), listing(small("a", 1))); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestScanMeanwhile: changes during a scan are newer than its listing, and a second
// scan is refused, also in other processes.
func TestScanMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "", nil)
		other := db.open(t, nil).mustSet(t, "", nil)
		neighbour := store.mustSet(t, "neighbour", nil)
		if err := set.Put(t.Context(), small("changed", 1), small("deleted", 1), small("gone", 1)); err != nil {
			t.Fatal(err)
		}
		result, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for _, s := range []*Set{set, other} {
				if _, err := s.Scan(t.Context(), listing()); !errors.Is(err, resourcesync.ErrScanning) {
					t.Errorf("a second scan: %v", err)
				}
			}
			if _, err := neighbour.Scan(t.Context(), listing(small("a", 1))); err != nil {
				t.Error(err)
			}
			if err := other.Put(t.Context(), small("changed", 2), small("new", 2)); err != nil {
				t.Error(err)
			}
			if err := other.Delete(t.Context(), "deleted"); err != nil {
				t.Error(err)
			}
			_ = yield(small("changed", 1), nil) && yield(small("deleted", 1), nil) && yield(small("listed", 1), nil)
		})
		if want := (resourcesync.ScanResult{Created: 1, Deleted: 1, Unchanged: 2}); err != nil || result != want {
			t.Errorf("%+v, %v, expected %+v", result, err, want)
		}
		want := map[string]string{}
		for _, r := range []resourcesync.Resource{small("changed", 2), small("new", 2), small("listed", 1)} {
			want[r.Key] = r.Type
		}
		if got := articlesOf(t, set); !maps.Equal(got, want) {
			t.Errorf("got %v, expected %v", got, want)
		}
	})
}

// TestScanShows: the resources of a slow listing appear as they arrive.
func TestScanShows(t *testing.T) {
	t.Parallel()
	db := newSQLite(t)
	set := db.open(t, nil).mustSet(t, "", nil)
	_, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
		yield(small("a", 1), nil)
		time.Sleep(flushInterval)
		yield(small("b", 1), nil)
		if got := articlesOf(t, set); len(got) != 2 {
			t.Errorf("the set has %v", got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestScanAwaitedSpilled is a first scan of more keys than memory holds. It finds those that
// the listing has twice among the rows that it has written.
func TestScanAwaitedSpilled(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		store.maxSeen = 500
		set := store.mustSet(t, "", &scan.SetOptions{AwaitScan: true})
		const n = 2*firstBatch + 10
		all := numbered(n, 0)
		put := small("put-meanwhile", 2)
		result, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			listing(all...)(func(r resourcesync.Resource, err error) bool { return yield(r, err) })
			if err := set.Put(t.Context(), put); err != nil {
				t.Error(err)
			}
			again := append(numbered(n, 1), small(put.Key, 1), small("last", 1), small("last", 2))
			listing(again...)(func(r resourcesync.Resource, err error) bool { return yield(r, err) })
		})
		if want := (resourcesync.ScanResult{Created: n + 1, Unchanged: n + 2}); err != nil || result != want {
			t.Errorf("%+v, %v, expected %+v", result, err, want)
		}
		want := map[string]string{put.Key: put.Type, "last": "version/1"}
		for _, r := range all {
			want[r.Key] = r.Type
		}
		if got := articlesOf(t, set); !maps.Equal(got, want) {
			t.Errorf("the set has %d resources, unlike the listing with %d", len(got), len(want))
		}
		checkBlocks(t, set)
	})
}
