package sqlstore

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestKilled kills a server that writes, sequences and serves again and again, at
// random moments, while a Destination follows its Change Lists. In the end, its copy
// equals the table. RESOURCESYNC_KILLS is the number of kills.
func TestKilled(t *testing.T) {
	needs.Time(t)
	n := setting("RESOURCESYNC_KILLS", 3)
	eachEngine(t, func(t *testing.T, db database) {
		source := new(front)
		d := newDestination(t, source)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		finished, ended := make(chan struct{}), make(chan error, 1)
		for i := range n {
			// No other process has the database open, so each child finds it as the
			// previous one left it.
			child := startChild(t, db, "storm")
			source.lead(child.first)
			if i == 0 {
				eventually(t, func() error {
					err := d.read(ctx)
					if err == nil && d.changes == 0 {
						err = errors.New("nothing is written")
					}
					return err
				})
				go func() { ended <- d.follow(ctx, finished) }()
			}
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			child.kill()
		}
		close(finished)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		t.Logf("the Destination has read of %d changes before the last kill", d.changes)

		store := db.open(t, &Options{Now: stepping, Window: stormWindow})
		set := store.mustSet(t, "articles", nil)
		host := newWriter(t, db)
		run(t, store)
		source.lead(serve(t, set, stormPage))
		// PostgreSQL may still be executing the last commit of the previous child.
		eventually(t, func() error {
			if err := awaitSequenced(ctx, store); err != nil {
				return err
			}
			if err := d.read(ctx); err != nil {
				t.Fatal(err)
			}
			return d.compare(ctx, host)
		})
		if got := articlesOf(t, set); !maps.Equal(got, d.articles) {
			t.Errorf("the set has %d articles, unlike the table with %d", len(got), len(d.articles))
		}
		checkBlocks(t, set)
	})
}
