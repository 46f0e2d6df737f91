package sqlstore

import (
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// BenchmarkLarge measures operations whose time must not depend on the size of a set:
// Cuts against the bare engine counting the keys of the same index, the last page
// against the first, and the Stat of a page against the Stat of the set.
func BenchmarkLarge(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		every := min(10_000, rows()/4) // four pages at least
		_, set := filled(b, e, rows())
		var cuts []resourcesync.Cut
		cut := func() {
			var err error
			if cuts, err = set.Cuts(b.Context(), nil, every); err != nil {
				b.Fatal(err)
			}
		}
		countAll := func() {
			if n := count(b, set.store, "SELECT count(*) FROM rs_resource"); n != int64(rows()) {
				b.Fatal(n)
			}
		}
		cut() // the other benchmarks need them, whichever are run
		b.Run("cuts", func(b *testing.B) {
			compare(b, func() { forgetCuts(b, set); cut() }, countAll)
		})
		b.Run("cuts again", func(b *testing.B) {
			compare(b, cut, countAll)
		})
		first := resourcesync.Range{To: cuts[0].Key}
		last := resourcesync.Range{From: cuts[len(cuts)-3].Key, To: cuts[len(cuts)-2].Key}
		b.Run("last page", func(b *testing.B) {
			compare(b, func() { readAll(b, set, last, every) }, func() { readAll(b, set, first, every) })
		})
		stat := func(r resourcesync.Range) {
			if _, err := set.Stat(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("stat of a page", func(b *testing.B) {
			compare(b, func() { stat(last) }, func() { stat(resourcesync.Range{}) })
		})
	})
}

// forgetCuts makes the next call of Cuts the first.
func forgetCuts(b *testing.B, set *Set) {
	err := set.store.db.Do(b.Context(), func(c rowdb.Conn) error {
		_, err := c.Exec(b.Context(), "DELETE FROM rs_division")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}
