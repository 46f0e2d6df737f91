package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// clearAll deletes everything that the journals have dropped.
func (s *Store) clearAll(ctx context.Context) error {
	for {
		if more, err := s.clear(ctx); err != nil || !more {
			return err
		}
	}
}

// TestD24_RetentionLooksWithoutTheLock: retention that finds nothing to delete does
// not wait for the write lock, and one that finds much deletes it in batches.
func TestD24_RetentionLooksWithoutTheLock(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Window: time.Hour, Retain: time.Hour})
		set := store.mustSet(t, "set", nil)
		other := store.mustSet(t, "other", nil)
		fill := func(set *Set, n int) {
			t.Helper()
			for i := range n {
				if err := set.Put(t.Context(), small(fmt.Sprintf("%d/%d", n, i), i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill(set, batch/10)
		undo := errors.New("undo")
		err := store.db.Update(t.Context(), func(rowdb.Conn) error {
			ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
			defer cancel()
			if more, err := store.clear(ctx); more || err != nil {
				t.Errorf("with nothing to delete and the lock taken, clear answers %v, %v", more, err)
			}
			return undo
		})
		if err != undo {
			t.Fatal(err)
		}

		if _, err := set.change(t.Context(), puts(batch+batch/2)); err != nil {
			t.Fatal(err)
		}
		fill(other, 10)
		clock.now = clock.now.Add(3 * time.Hour)
		fill(set, 1)
		fill(other, 1)
		const events = "SELECT count(*) FROM rs_change"
		for i, want := range []struct {
			more bool
			left int64
		}{{true, batch/10 + batch/2 + 2}, {false, 2}, {false, 2}} {
			more, err := store.clear(t.Context())
			if left := count(t, store, events); more != want.more || left != want.left || err != nil {
				t.Errorf("run %d: more is %v, and %d changes are left, %v; want %+v", i, more, left, err, want)
			}
		}
	})
}

// puts returns edits that put n resources.
func puts(n int) []changes.Edit {
	edits := make([]changes.Edit, n)
	for i := range edits {
		r := small(fmt.Sprintf("puts/%06d", i), i)
		edits[i] = changes.Edit{Type: changes.Upsert, Key: r.Key, Resource: &r}
	}
	return edits
}
