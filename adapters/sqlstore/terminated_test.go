package sqlstore

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// An executioner ends connections to PostgreSQL that have its name.
type executioner struct {
	db   *sql.DB
	name string
}

// newExecutioner returns one, and the database whose connections it ends.
func newExecutioner(t *testing.T, db database) (*executioner, database) {
	name := strings.ToLower(crand.Text())
	return &executioner{newWriter(t, db).db, name}, db + database("&application_name="+name)
}

// terminate ends up to n connections whose last statement matches a pattern, and
// returns their number.
func (e *executioner) terminate(ctx context.Context, like string, n int) (ended int, err error) {
	err = e.db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM (
		SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND query LIKE $2 ORDER BY random() LIMIT $3) a`, e.name, like, n).Scan(&ended)
	return ended, err
}

// TestTerminated: PostgreSQL ends connections of the store and of its writers at random
// moments. Nothing is lost.
func TestTerminated(t *testing.T) {
	t.Parallel()
	killer, db := newExecutioner(t, newPostgres(t))
	store := db.open(t, &Options{Now: stepping, Window: stormWindow})
	set := store.mustSet(t, "articles", nil)
	run(t, store)
	host := newWriter(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var writing sync.WaitGroup
	for i := range 4 {
		writing.Go(func() {
			if err := host.storm(ctx, set, rand.New(rand.NewPCG(uint64(i), 7)), 500); err != nil {
				t.Error(err)
			}
		})
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		writing.Wait()
	}()
	// On a busy machine connections end faster than transactions commit, so their number is limited: otherwise the
	// writers never finish.
	killed := 0
	for storm := true; storm && killed < 200; {
		select {
		case <-written:
			storm = false
		case <-time.After(20 * time.Millisecond):
			n, err := killer.terminate(ctx, "%", 1)
			if err != nil {
				t.Error(err)
			}
			killed += n
		}
	}
	<-written
	eventually(t, func() error { return awaitSequenced(ctx, store) })
	host.db.SetMaxIdleConns(0) // some of them have been ended
	source := new(front)
	source.lead(serve(t, set, stormPage))
	d := newDestination(t, source)
	if err := d.read(ctx); err != nil {
		t.Error(err)
	} else if err := d.compare(ctx, host); err != nil {
		t.Error(err)
	}
	checkBlocks(t, set)
	eventually(t, func() error { return store.Health(ctx) })
	t.Logf("%d connections were ended", killed)
}

// TestScanTerminated: a scan that loses its connections, or its lock, deletes
// nothing, and the next one can begin.
func TestScanTerminated(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"connections": "%", "lock": "-- ping%"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killer, db := newExecutioner(t, newPostgres(t))
			set := db.open(t, nil).mustSet(t, "", nil)
			if err := set.Put(t.Context(), small("a", 1), small("b", 1)); err != nil {
				t.Fatal(err)
			}
			_, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
				eventually(t, func() error {
					n, err := killer.terminate(t.Context(), last, 100)
					if err == nil && n == 0 {
						err = errors.New("there is no such connection")
					}
					return err
				})
				// It continues until the scan has noticed.
				for began := time.Now(); time.Since(began) < needs.Patience && yield(small("a", 1), nil); {
					time.Sleep(10 * time.Millisecond)
				}
			})
			if err == nil {
				t.Error("the scan has succeeded")
			}
			if got := articlesOf(t, set); len(got) != 2 {
				t.Errorf("left are %v", got)
			}
			if result, err := set.Scan(t.Context(), listing(small("a", 1))); err != nil || result.Deleted != 1 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
