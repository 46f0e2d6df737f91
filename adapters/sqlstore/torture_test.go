package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// setting returns a number that the environment may raise for longer tests.
func setting(name string, value int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return value
}

// A replica is what a Destination has that reads on from the newest datetime it
// has seen.
type replica struct {
	articles map[string]string
	last     time.Time
	changes  int
}

// read reads on. It fails when a change cannot be the next in the history of the
// set.
func (r *replica) read(ctx context.Context, c resourcesync.Changer) error {
	if r.articles == nil {
		r.articles = map[string]string{}
	}
	for c, err := range c.Changes(ctx, resourcesync.Interval{From: r.last.Add(1)}) {
		if err != nil {
			return err
		}
		key := c.Resource.Key
		_, found := r.articles[key]
		switch {
		case !c.Datetime.After(r.last):
			return fmt.Errorf("a change at %v comes after one at %v", c.Datetime, r.last)
		case found == (c.Type == resourcesync.Created):
			return fmt.Errorf("%s of %q at %v, but found is %t", c.Type, key, c.Datetime, found)
		}
		if c.Type == resourcesync.Deleted {
			delete(r.articles, key)
		} else {
			r.articles[key] = c.Resource.Type
		}
		r.last = c.Datetime
		r.changes++
	}
	return ctx.Err()
}

// TestNothingLost lets writers loose on a table while Destinations read on. In
// the end everybody has the same. RESOURCESYNC_TORTURE says how many changes
// there are.
func TestNothingLost(t *testing.T) {
	const writers = 8
	n := setting("RESOURCESYNC_TORTURE", 2_000)
	eachEngine(t, func(t *testing.T, db database) {
		// Now and then the clock is an hour slow.
		var slow atomic.Bool
		store := db.open(t, &Options{Now: func() time.Time {
			if slow.Load() {
				return time.Now().Add(-time.Hour)
			}
			return time.Now()
		}})
		set := store.mustSet(t, "articles", nil)
		run(t, store)

		host := newWriter(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var committed atomic.Int64
		var writing sync.WaitGroup
		for i := range writers {
			writing.Go(func() {
				done, err := host.storm(ctx, set, rand.New(rand.NewPCG(uint64(i), 7)), n/writers)
				committed.Add(int64(done))
				if err != nil {
					t.Error(err)
				}
			})
		}
		finished := make(chan struct{})
		var reading sync.WaitGroup
		replicas := make([]replica, 3)
		for i := range replicas {
			reading.Go(func() {
				r := &replicas[i]
				for tick := 0; ; tick++ {
					if err := r.read(ctx, set); err != nil {
						t.Error(err)
						return
					}
					select {
					case <-finished:
						if err := r.read(ctx, set); err != nil {
							t.Error(err)
						}
						return
					case <-time.After(50 * time.Millisecond):
						slow.Store(i == 0 && tick%4 >= 2)
					}
				}
			})
		}
		writing.Wait()
		if err := awaitSequenced(ctx, store); err != nil {
			t.Error(err)
		}
		close(finished)
		reading.Wait()

		want, err := host.articles(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range replicas {
			if !maps.Equal(r.articles, want) {
				t.Errorf("replica %d has %d articles, unlike the table with %d", i, len(r.articles), len(want))
			}
			if int64(r.changes) != committed.Load() {
				t.Errorf("replica %d has seen %d changes, of %d committed", i, r.changes, committed.Load())
			}
		}
		if got := articlesOf(t, set); !maps.Equal(got, want) {
			t.Errorf("the set has %d articles, unlike the table with %d", len(got), len(want))
		}
		checkBlocks(t, set)
	})
}

// awaitSequenced waits until nothing is pending.
func awaitSequenced(ctx context.Context, s *Store) error {
	for {
		pending := 0
		err := s.db.Do(ctx, func(c rowdb.Conn) error {
			return c.Query(ctx, "SELECT count(*) FROM rs_pending", func(r rowdb.Row) error { pending = int(r.Int(0)); return nil })
		})
		if err != nil || pending == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("changes stay pending")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func articlesOf(t testing.TB, p resourcesync.Provider) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r, err := range p.Resources(context.Background(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		all[r.Key] = r.Type
	}
	return all
}

// checkBlocks reports sums that are not those of the rows.
func checkBlocks(t testing.TB, set *Set) {
	t.Helper()
	ctx := context.Background()
	err := set.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		row, err := readSet(ctx, c, set.id)
		if err != nil {
			return err
		}
		var blocks []block
		err = c.Query(ctx, "SELECT "+blockColumns+" FROM rs_block WHERE set_id = $1 ORDER BY lo", func(r rowdb.Row) error {
			var b block
			b.read(r)
			blocks = append(blocks, b)
			return nil
		}, set.id)
		if err != nil {
			return err
		}
		total := int64(0)
		for i, b := range blocks {
			hi := beyond
			if i+1 < len(blocks) {
				hi = blocks[i+1].lo
			}
			sum := block{lo: b.lo}
			newest := int64(0)
			err := c.Query(ctx, sizesOf, func(r rowdb.Row) error {
				sum.rows++
				if !r.Null(3) {
					sum.count++
					sum.bytes += r.Int(2)
				}
				newest = max(newest, r.Int(1))
				return nil
			}, set.id, b.lo, hi)
			if err != nil {
				return err
			}
			if b.rows != sum.rows || b.count != sum.count || b.bytes != sum.bytes || b.newest < newest {
				t.Errorf("block at %q: %+v, but its rows are %+v, the newest %d", b.lo, b, sum, newest)
			}
			if b.rows > maxBlock {
				t.Errorf("block at %q has %d rows", b.lo, b.rows)
			}
			total += b.count
		}
		if total != row.count {
			t.Errorf("the set says it has %d resources, and its blocks %d", row.count, total)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
