package packages

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

// TestCutWithdrawn: a store withdraws resources whose deletions it holds, and puts them
// back, without a change in the journal. Divisions show both, with other changes or none.
func TestCutWithdrawn(t *testing.T) {
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "set.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	set, err := store.Set(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []resourcesync.Resource
	for i := range 5 * minResources {
		all = append(all, resourcesync.Resource{Key: runKey(i), URI: "https://example.org/" + runKey(i), Length: resourcesync.Bytes(1)})
	}
	put := func(resources ...resourcesync.Resource) {
		t.Helper()
		if err := set.Put(t.Context(), resources...); err != nil {
			t.Fatal(err)
		}
	}
	const size = minResources * perResource
	rs := &Resources{Provider: set, Stater: set, PartStater: set, Changer: set, Size: size}
	var cuts []resourcesync.Cut
	divide := func(what string) {
		t.Helper()
		now, err := rs.Cut(t.Context(), cuts)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&Resources{Provider: set, Stater: set, Size: size}).Cut(t.Context(), cuts)
		if err != nil || !slices.Equal(now, want) {
			t.Fatalf("%s: divided into %v, want %v; %v", what, now, want, err)
		}
		cuts = now
	}
	put(all...)
	divide("first")
	divide("second")
	var keys []string
	for i := range 2*minResources - 10 {
		keys = append(keys, all[i].Key)
	}
	withdraw := func() {
		t.Helper()
		if err := set.Withdraw(t.Context(), keys...); err != nil {
			t.Fatal(err)
		}
	}
	withdraw()
	divide("withdrawn")
	put(all...)
	divide("put back")
	last := all[len(all)-1]
	for i, change := range []func(){withdraw, func() { put(all[:len(all)-1]...) }} {
		last.Length = resourcesync.Bytes(int64(i + 2))
		change()
		put(last)
		divide("with another change")
	}
}
