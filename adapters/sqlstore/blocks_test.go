package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestCutsBetweenBlocks cuts at the ends of blocks: the last key of one and the first
// of the next then determine the cut.
func TestCutsBetweenBlocks(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		if err := set.Put(t.Context(), numbered(10*fullBlock, 0)...); err != nil {
			t.Fatal(err)
		}
		for _, every := range []int{fullBlock, 2 * fullBlock, 3 * fullBlock} {
			got, err := set.Cuts(t.Context(), nil, every)
			if err != nil {
				t.Fatal(err)
			}
			if want := walk(t, set, nil, every); !slices.Equal(got, want) {
				t.Errorf("pages of %d are\n%v\nexpected\n%v", every, got, want)
			}
		}
	})
}

// TestBlocksJoined deletes nearly everything. When the deletions are forgotten, hardly
// any blocks are left, and their sums are correct.
func TestBlocksJoined(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: time.Hour, Window: time.Hour})
		set := store.mustSet(t, "", nil)
		all := numbered(12*fullBlock, 0)
		if err := set.Put(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
		var gone []string
		for i, r := range all {
			if i%60 != 0 {
				gone = append(gone, r.Key)
			}
		}
		if err := set.Delete(t.Context(), gone...); err != nil {
			t.Fatal(err)
		}
		clock.now = clock.now.Add(3 * time.Hour)
		if err := set.Put(t.Context(), small("last", 1)); err != nil {
			t.Fatal(err)
		}
		if err := store.clearAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkBlocks(t, set)
		if n := count(t, store, "SELECT count(*) FROM rs_resource"); n != int64(len(all)-len(gone)+1) {
			t.Errorf("%d rows are left", n)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_block"); n > 3 {
			t.Errorf("%d blocks are left", n)
		}
		st, err := set.Stat(t.Context(), resourcesync.Range{From: "0"})
		if err != nil || st.Count != int64(len(all)-len(gone)+1) {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestChunks reads more rows than one statement returns.
func TestChunks(t *testing.T) {
	t.Parallel()
	const n = chunk + 10
	store := newSQLite(t).open(t, nil)
	set := store.mustSet(t, "", nil)
	err := store.db.Update(t.Context(), func(c rowdb.Conn) error {
		const body = "x'0000'" // of a resource that says nothing
		return c.Script(t.Context(), fmt.Sprintf(`UPDATE rs_set SET since = 0;
			INSERT INTO rs_resource (set_id, key, newest, size, place, body)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d)
				SELECT id, CAST(printf('%%06d', i) AS BLOB), i, 0, 0, CASE WHEN i %% 10 > 0 THEN %[2]s END FROM n, rs_set;
			INSERT INTO rs_change (set_id, at, change, key, size, body) SELECT set_id, newest, 'created', key, 0, %[2]s FROM rs_resource`, n, body))
	})
	if err != nil {
		t.Fatal(err)
	}
	resources, changes := 0, 0
	for _, err := range set.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		resources++
	}
	for _, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		changes++
	}
	if resources != n-n/10 || changes != n {
		t.Errorf("%d resources and %d changes, expected %d and %d", resources, changes, n-n/10, n)
	}
	// If rows are dropped while they are read, the reader gets an error.
	changes = 0
	var last error
	for _, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		if changes++; changes == 1 {
			err := store.db.Update(t.Context(), func(c rowdb.Conn) error {
				return c.Script(t.Context(), fmt.Sprintf("UPDATE rs_set SET since = %d", chunk+5))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "dropped") {
		t.Errorf("%d changes, and then %v", changes, last)
	}
}
