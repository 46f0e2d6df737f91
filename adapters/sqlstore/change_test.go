package sqlstore

import (
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestStampAlone holds that a new Stamp is kept but is no change: a scanner marks
// a file that it has read again and found the same.
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
			if err != nil || result != (ScanResult{Unchanged: 1}) {
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

// TestMovedURI holds that a new URI for a key is a deletion and a creation:
// Destinations know nothing of keys.
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
