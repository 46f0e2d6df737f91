package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// BenchmarkVisible records changes, one at a time and at random intervals, and waits
// until each is visible. The metric is the median time since the commit; the promise is
// 50 ms.
func BenchmarkVisible(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		db := e.make(b)
		store := db.open(b, nil)
		set := store.mustSet(b, "articles", nil)
		run(b, store)
		host := newWriter(b, db)
		var waits []time.Duration
		for i := 0; b.Loop(); i++ {
			key := fmt.Sprint(i)
			err := host.transaction(b.Context(), func(tx *sql.Tx) error {
				return set.Record(b.Context(), SQLTx(tx), change(resourcesync.Created, key, 1))
			})
			if err != nil {
				b.Fatal(err)
			}
			committed := time.Now()
			for found := false; !found; time.Sleep(time.Millisecond) {
				if _, found, err = set.Get(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
			waits = append(waits, time.Since(committed))
			time.Sleep(time.Duration(i%30) * time.Millisecond)
		}
		slices.Sort(waits)
		b.ReportMetric(float64(waits[len(waits)/2])/float64(time.Millisecond), "ms/median")
	})
}
