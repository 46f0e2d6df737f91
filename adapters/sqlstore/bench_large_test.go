package sqlstore

import (
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// BenchmarkLarge is about what must not depend on the size of a set: the first
// page and the last, cuts, and the Stats of the whole and of a page. count is the
// bare engine counting the keys of the same index.
func BenchmarkLarge(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		const every = 10_000
		_, set := filled(b, e, rows())
		b.Run("count", func(b *testing.B) {
			for b.Loop() {
				if n := count(b, set.store, "SELECT count(*) FROM rs_resource"); n != int64(rows()) {
					b.Fatal(n)
				}
			}
		})
		var cuts []resourcesync.Cut
		b.Run("cuts", func(b *testing.B) {
			for b.Loop() {
				forgetCuts(b, set)
				var err error
				if cuts, err = set.Cuts(b.Context(), nil, every); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("cuts again", func(b *testing.B) {
			for b.Loop() {
				if _, err := set.Cuts(b.Context(), nil, every); err != nil {
					b.Fatal(err)
				}
			}
		})
		first := resourcesync.Range{To: cuts[0].Key}
		last := resourcesync.Range{From: cuts[len(cuts)-3].Key, To: cuts[len(cuts)-2].Key}
		for _, page := range []struct {
			name string
			r    resourcesync.Range
		}{{"first page", first}, {"last page", last}} {
			b.Run(page.name, func(b *testing.B) {
				for b.Loop() {
					n := 0
					for _, err := range set.Resources(b.Context(), page.r) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n != every {
						b.Fatal(n)
					}
				}
			})
		}
		for _, stat := range []struct {
			name string
			r    resourcesync.Range
		}{{"stat of all", resourcesync.Range{}}, {"stat of a page", last}} {
			b.Run(stat.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := set.Stat(b.Context(), stat.r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// forgetCuts makes the next call of Cuts the first.
func forgetCuts(b *testing.B, set *Set) {
	b.StopTimer()
	defer b.StartTimer()
	err := set.store.db.Do(b.Context(), func(c rowdb.Conn) error {
		_, err := c.Exec(b.Context(), "DELETE FROM rs_division")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}
