package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestSoon: a change is visible within 50 ms of its commit, as a rule. It is not
// run beside other tests.
func TestSoon(t *testing.T) {
	const soon = 50 * time.Millisecond
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			db := e.make(t)
			store := db.open(t, nil)
			set := store.mustSet(t, "articles", nil)
			run(t, store)
			host := newWriter(t, db)
			var waits []time.Duration
			for i := range 31 {
				key := fmt.Sprint(i)
				err := host.transaction(t.Context(), func(tx *sql.Tx) error {
					return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, key, 1))
				})
				if err != nil {
					t.Fatal(err)
				}
				committed := time.Now()
				for {
					_, found, err := set.Get(t.Context(), key)
					if err != nil {
						t.Fatal(err)
					}
					if found {
						break
					}
					if time.Since(committed) > 10*time.Second {
						t.Fatal("a change does not become visible")
					}
					time.Sleep(time.Millisecond)
				}
				waits = append(waits, time.Since(committed))
				time.Sleep(time.Duration(i) * time.Millisecond) // at no fixed time after the one before
			}
			slices.Sort(waits)
			t.Logf("visible after %v to %v, median %v", waits[0], waits[len(waits)-1], waits[len(waits)/2])
			if median := waits[len(waits)/2]; median > soon {
				t.Errorf("a change is visible after %v, expected %v or less", median, soon)
			}
		})
	}
}
