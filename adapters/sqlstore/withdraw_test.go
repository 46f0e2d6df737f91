package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// keysOf returns the keys of resources.
func keysOf(resources []resourcesync.Resource) (keys []string) {
	for _, r := range resources {
		keys = append(keys, r.Key)
	}
	return keys
}

// journalOf returns the journal of a set after its first n changes, in the form
// "deleted key".
func journalOf(t *testing.T, set *Set, n int) (changes []string) {
	t.Helper()
	for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n--; n < 0 {
			changes = append(changes, string(c.Type)+" "+c.Resource.Key)
		}
	}
	return changes
}

// guarded returns a set with the default guard.
func guarded(t *testing.T, store *Store) *Set {
	t.Helper()
	set, err := store.Set(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestWithdraw: withdrawn resources leave the set at once. A few deletions are
// published at once; if there are many, none is published before the guard allows all
// of them. Resources that come back are not published as deleted.
func TestWithdraw(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		open := func() *Set { return guarded(t, db.open(t, &Options{Now: func() time.Time { return now }})) }
		set := open()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		all := files(60, 40)
		scans := func(want resourcesync.ScanResult, resources ...resourcesync.Resource) {
			t.Helper()
			now = now.Add(time.Minute)
			if got, err := set.Scan(t.Context(), listing(resources...)); err != nil || got != want {
				t.Fatalf("%+v, %v, expected %+v", got, err, want)
			}
		}
		// check compares the set with its sums, and the journal since the creations.
		check := func(count int, journal ...string) {
			t.Helper()
			found := articlesOf(t, set)
			stat, err := set.Stat(t.Context(), resourcesync.Range{})
			must(err)
			part, err := set.Stat(t.Context(), resourcesync.Range{From: "a"})
			must(err)
			if len(found) != count || stat.Count != int64(count) || part.Count != int64(count) {
				t.Fatalf("%d resources, %d counted, %d in blocks, expected %d", len(found), stat.Count, part.Count, count)
			}
			if got := journalOf(t, set, 100); !slices.Equal(got, journal) {
				t.Fatalf("journal %q, expected %q", got, journal)
			}
		}
		scans(resourcesync.ScanResult{Created: 100}, all...)
		check(100)

		must(set.Withdraw(t.Context(), "a/000"))
		must(set.Withdraw(t.Context(), "a/000", "none"))
		journal := []string{"deleted a/000"}
		check(99, journal...)
		before, err := set.Stat(t.Context(), resourcesync.Range{})
		must(err)
		for _, key := range keysOf(files(60, 0)[1:]) {
			must(set.Withdraw(t.Context(), key))
		}
		journal = append(journal, "deleted a/001")
		check(40, journal...)
		after, err := set.Stat(t.Context(), resourcesync.Range{})
		must(err)
		if after.Version == before.Version || !after.LastModified.After(before.LastModified) {
			t.Errorf("%+v, then %+v", before, after)
		}

		held := now.Add(time.Minute)
		scans(resourcesync.ScanResult{Unchanged: 40, Held: 58, HeldSince: held}, files(0, 40)...)
		check(40, journal...)
		set = open() // as another process, or after a restart
		check(40, journal...)
		kept, err := set.Kept(t.Context())
		if want := (scan.Kept{Held: 58, Since: held, Until: held.Add(time.Hour)}); err != nil || kept != want {
			t.Errorf("%+v, %v, expected %+v", kept, err, want)
		}

		// One comes back unchanged, one has changed, one has moved, and one is deleted.
		moved := small("a/004", 1)
		moved.URI = "https://example.org/moved"
		must(set.Put(t.Context(), small("a/002", 1), small("a/003", 2), moved))
		must(set.Delete(t.Context(), "a/005"))
		journal = append(journal, "updated a/003", "deleted a/004", "created a/004", "deleted a/005")
		check(43, journal...)
		back := append(files(0, 40), small("a/002", 1), small("a/003", 2), moved)
		scans(resourcesync.ScanResult{Unchanged: 43, Held: 54, HeldSince: held}, back...)

		now = now.Add(time.Hour)
		scans(resourcesync.ScanResult{Unchanged: 43, Deleted: 54}, back...)
		for i := 6; i < 60; i++ {
			journal = append(journal, fmt.Sprintf("deleted a/%03d", i))
		}
		check(43, journal...)
		scans(resourcesync.ScanResult{Created: 57, Unchanged: 43}, append(back, append([]resourcesync.Resource{small("a/000", 1), small("a/001", 1)}, files(60, 0)[5:]...)...)...)
	})
}

// TestWithdrawDuringScan: a scan judges resources that are withdrawn while it runs
// together with those missing from its listing.
func TestWithdrawDuringScan(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := guarded(t, db.open(t, nil))
		all := files(60, 40)
		if _, err := set.Scan(t.Context(), listing(all...)); err != nil {
			t.Fatal(err)
		}
		scan := func(withdrawn, missing int) resourcesync.ScanResult {
			t.Helper()
			result, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
				for i, r := range all {
					switch {
					case i < withdrawn:
						if err := set.Withdraw(t.Context(), r.Key); err != nil {
							t.Error(err)
						}
					case i >= withdrawn+missing:
						yield(r, nil)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		if got := scan(20, 20); got.Held != 40 || got.Deleted != 0 || len(articlesOf(t, set)) != 80 || len(journalOf(t, set, 100)) != 0 {
			t.Errorf("%+v, journal %q", got, journalOf(t, set, 100))
		}
		if n, err := set.ConfirmDeletions(t.Context()); n != 40 || err != nil {
			t.Fatalf("confirmed %d, %v", n, err)
		}
		if got := scan(20, 20); got.Held != 0 || got.Deleted != 40 || len(articlesOf(t, set)) != 60 || len(journalOf(t, set, 100)) != 40 {
			t.Errorf("%+v, journal %q", got, journalOf(t, set, 100))
		}
	})
}

// TestApproveWithdrawn has a scanner approve the deletions of withdrawn resources, also from
// another process, before a scan publishes them. Without approval, they wait. Resources that are
// withdrawn meanwhile wait for the next scan.
func TestApproveWithdrawn(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set, other := guarded(t, store), guarded(t, store)
		all := files(60, 40)
		if _, err := set.Scan(t.Context(), listing(all...)); err != nil {
			t.Fatal(err)
		}
		withdraw := func(key string) {
			t.Helper()
			if err := other.WithdrawForScan(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		asked := 0
		refused := errors.New("not yet")
		answer := refused
		set.ApproveWithdrawn(func(context.Context) error {
			asked++
			withdraw(all[asked].Key)
			return answer
		})
		check := func(want error, deletions ...string) {
			t.Helper()
			if _, err := set.Scan(t.Context(), listing(all[3:]...)); !errors.Is(err, want) {
				t.Fatalf("%v, want %v", err, want)
			}
			if got := journalOf(t, set, 100); !slices.Equal(got, deletions) {
				t.Errorf("after %d questions, journal %q, want %q", asked, got, deletions)
			}
		}
		withdraw(all[0].Key)
		check(refused)
		answer = nil
		check(nil, "deleted a/000", "deleted a/001")
		set.ApproveWithdrawn(func(context.Context) error { asked++; return nil })
		check(nil, "deleted a/000", "deleted a/001", "deleted a/002")
		check(nil, "deleted a/000", "deleted a/001", "deleted a/002")
		if asked != 3 {
			t.Errorf("asked %d times, want 3", asked)
		}
	})
}

// TestWithdrawIsForgotten: retention removes a withdrawn resource with its deletion.
func TestWithdrawIsForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: time.Hour, Window: time.Hour})
		set := guarded(t, store)
		if _, err := set.Scan(t.Context(), listing(files(100, 0)...)); err != nil {
			t.Fatal(err)
		}
		if err := set.Withdraw(t.Context(), keysOf(files(10, 0))...); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			clock.now = clock.now.Add(5 * time.Hour)
			if _, err := set.Scan(t.Context(), listing(append(files(100, 0)[10:], small("new", clock.now.Hour()))...)); err != nil {
				t.Fatal(err)
			}
			if err := store.clearAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(t, store, "SELECT count(*) FROM rs_resource WHERE body IS NULL"); n != 0 {
			t.Errorf("%d rows of deleted resources", n)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_withdrawn"); n != 0 {
			t.Errorf("%d rows of withdrawn resources", n)
		}
	})
}
