package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestStampAlone checks that a new Stamp is kept but is not a change: a scanner stamps
// a file that it has read again and found unchanged.
func TestStampAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "files", nil)
		r := resourcesync.Resource{Key: "a", URI: "https://example.org/a", Type: "text/plain", Stamp: "1"}
		state := func() (resourcesync.Stat, int) {
			t.Helper()
			stat, err := set.Stat(t.Context(), resourcesync.Range{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return stat, n
		}
		if err := set.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		before, _ := state()
		for _, stamp := range []string{"2", ""} {
			r.Stamp = stamp
			result, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) { yield(r, nil) })
			if err != nil || result != (resourcesync.ScanResult{Unchanged: 1}) {
				t.Errorf("stamp %q: %+v, %v", stamp, result, err)
			}
			got, found, err := set.Get(t.Context(), "a")
			if err != nil || !found || got.Stamp != stamp {
				t.Errorf("kept %q, %t, %v", got.Stamp, found, err)
			}
			if after, changes := state(); after != before || changes != 1 {
				t.Errorf("stamp %q: %v after %v, %d changes", stamp, after, before, changes)
			}
		}
	})
}

// TestMovedURI checks that a new URI for a key is a deletion and a creation:
// Destinations do not know keys.
func TestMovedURI(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "papers", nil)
		for _, uri := range []string{"https://example.org/a", "https://example.org/moved"} {
			if err := set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: uri}); err != nil {
				t.Fatal(err)
			}
		}
		var said []string
		for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, string(c.Type)+" "+c.Resource.URI)
		}
		want := []string{"created https://example.org/a", "deleted https://example.org/a", "created https://example.org/moved"}
		if !slices.Equal(said, want) {
			t.Errorf("the journal says %q, want %q", said, want)
		}
		stat, err := set.Stat(t.Context(), resourcesync.Range{})
		if err != nil || stat.Count != 1 {
			t.Errorf("%+v, %v", stat, err)
		}
		got, found, err := set.Get(t.Context(), "a")
		if err != nil || !found || got.URI != "https://example.org/moved" {
			t.Errorf("%+v, %t, %v", got, found, err)
		}
	})
}

// TestURIOfAnother gives resources the URIs of others, at random and in every way. A
// Destination, which does not know keys, ends up equal to the set.
func TestURIOfAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "", nil)
		host := newWriter(t, db)
		rnd := rand.New(rand.NewPCG(5, 6))
		key := func() string { return string(rune('a' + rnd.IntN(5))) }
		resource := func(key string) resourcesync.Resource {
			r := small(key, rnd.IntN(2))
			r.URI = fmt.Sprintf("https://example.org/%d", rnd.IntN(6))
			return r
		}
		var since time.Time
		known := map[string]string{}
		for round := range 300 {
			var err error
			var listed map[string]bool // keys, if it was a scan
			switch rnd.IntN(4) {
			case 0:
				err = set.Put(t.Context(), resource(key()), resource(key()))
			case 1:
				err = set.Delete(t.Context(), key())
			case 2:
				var all []resourcesync.Resource
				for range rnd.IntN(5) {
					all = append(all, resource(key()))
				}
				listed = map[string]bool{}
				for _, r := range all {
					listed[r.Key] = true
				}
				_, err = set.Scan(t.Context(), listing(all...))
			case 3:
				err = host.transaction(t.Context(), func(tx *sql.Tx) error {
					return set.Record(t.Context(), SQLTx(tx),
						resourcesync.Change{Type: resourcesync.Updated, Resource: resource(key())},
						change(resourcesync.Deleted, key(), 0),
						resourcesync.Change{Type: resourcesync.Created, Resource: resource(key())})
				})
				if err == nil {
					_, err = store.sequence(t.Context())
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			for c, err := range set.Changes(t.Context(), resourcesync.Interval{From: since}) {
				if err != nil {
					t.Fatal(err)
				}
				since = c.Datetime
				if c.Type == resourcesync.Deleted {
					delete(known, c.Resource.URI)
				} else {
					known[c.Resource.URI] = c.Resource.Type
				}
			}
			there, keys := map[string]bool{}, map[string]bool{}
			for r, err := range set.Resources(t.Context(), resourcesync.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				there[r.URI], keys[r.Key] = true, true
			}
			if listed != nil && !maps.Equal(keys, listed) {
				t.Fatalf("round %d: the set has %v after a scan of %v", round, keys, listed)
			}
			if got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(there)); !slices.Equal(got, want) {
				t.Fatalf("round %d: a Destination has %q, the set %q", round, got, want)
			}
		}
		checkBlocks(t, set)
	})
}
