package sqlstore

import (
	"errors"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestD24_DamagedRows: resources whose rows cannot be decoded are reported, count as
// unknown, and are replaced or removed by the next scan. All sums are correct
// afterwards.
func TestD24_DamagedRows(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		ctx := t.Context()
		store := db.open(t, nil)
		set := store.mustSet(t, "set", nil)
		if err := set.Put(ctx, small("a", 1), small("b", 1), small("c", 1)); err != nil {
			t.Fatal(err)
		}
		err := store.db.Do(ctx, func(c rowdb.Conn) error {
			return c.ExecEach(ctx, "UPDATE rs_resource SET body = $1 WHERE key = $2", 2,
				func(i int) []any { return []any{[]byte{0xff, 0}, []byte{"bc"[i]}} })
		})
		if err != nil {
			t.Fatal(err)
		}
		known, err := set.Known(ctx, []string{"a", "b"})
		if err != nil || known[0].Key != "a" || known[1].Key != "" {
			t.Errorf("known are %+v, %v", known, err)
		}
		err = nil
		for _, e := range set.Resources(ctx, resourcesync.Range{}) {
			err = errors.Join(err, e)
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("reading the set: %v", err)
		}
		if err := store.Health(ctx); !errors.Is(err, ErrDamaged) {
			t.Errorf("Health: %v", err)
		}
		result, err := set.Scan(ctx, listing(small("a", 1), small("b", 1)))
		if want := (resourcesync.ScanResult{Created: 1, Unchanged: 1}); err != nil || result != want {
			t.Errorf("%+v, %v, expected %+v", result, err, want)
		}
		if got := articlesOf(t, set); len(got) != 2 {
			t.Errorf("left are %v", got)
		}
		if st, err := set.Stat(ctx, resourcesync.Range{}); err != nil || st.Count != 2 {
			t.Errorf("%+v, %v", st, err)
		}
		checkBlocks(t, set)
		if err := store.Health(ctx); err != nil {
			t.Errorf("Health: %v", err)
		}
	})
}
