package sqlstore

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// TestKilled kills a process that writes and sequences again and again, at random
// moments, while a Destination reads on. In the end it has what the table has.
// RESOURCESYNC_KILLS says how often.
func TestKilled(t *testing.T) {
	n := setting("RESOURCESYNC_KILLS", 3)
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "articles", nil)
		host := newWriter(t, db)
		var r replica
		for range n {
			child := startChild(t, db, "write")
			end := time.Now().Add(time.Duration(rand.IntN(400)) * time.Millisecond)
			for time.Now().Before(end) {
				if err := r.read(t.Context(), set); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			child.kill()
		}
		run(t, store)
		if err := awaitSequenced(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		if err := r.read(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		want, err := host.articles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 {
			t.Fatal("nothing was written")
		}
		if !maps.Equal(r.articles, want) {
			t.Errorf("the replica has %d articles, unlike the table with %d", len(r.articles), len(want))
		}
		if got := articlesOf(t, set); !maps.Equal(got, want) {
			t.Errorf("the set has %d articles, unlike the table with %d", len(got), len(want))
		}
		checkBlocks(t, set)
	})
}
