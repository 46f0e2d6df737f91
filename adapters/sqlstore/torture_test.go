package sqlstore

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
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

// stormWindow and stormPage divide the journals of storms into many lists.
const (
	stormWindow = time.Second
	stormPage   = 500
)

// stepping is a clock that steps back by an hour every 400 ms, and forward again.
func stepping() time.Time {
	now := time.Now()
	if now.UnixMilli()/200%2 == 1 {
		now = now.Add(-time.Hour)
	}
	return now
}

// TestNothingLost has writers change a table while Destinations follow the Change
// Lists. In the end, all are equal. RESOURCESYNC_TORTURE is the number of changes.
func TestNothingLost(t *testing.T) {
	const writers = 8
	n := setting("RESOURCESYNC_TORTURE", 2_000)
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, &Options{Now: stepping, Window: stormWindow})
		set := store.mustSet(t, "articles", nil)
		run(t, store)
		source := new(front)
		source.lead(serve(t, set, stormPage))

		host := newWriter(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		var writing, reading sync.WaitGroup
		for i := range writers {
			writing.Go(func() {
				if err := host.storm(ctx, set, rand.New(rand.NewPCG(uint64(i), 7)), n/writers); err != nil {
					t.Error(err)
				}
			})
		}
		finished := make(chan struct{})
		destinations := make([]*destination, 3)
		for i := range destinations {
			d := newDestination(t, source)
			destinations[i] = d
			reading.Go(func() {
				if err := d.follow(ctx, finished); err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		if err := awaitSequenced(ctx, store); err != nil {
			t.Error(err)
		}
		close(finished)
		reading.Wait()
		// A Destination that comes late reads everything at once.
		for _, d := range append(destinations, newDestination(t, source)) {
			if err := d.read(ctx); err != nil {
				t.Error(err)
			} else if err := d.compare(ctx, host); err != nil {
				t.Error(err)
			}
		}
		want, err := host.articles(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := articlesOf(t, set); !maps.Equal(got, want) {
			t.Errorf("the set has %d articles, unlike the table with %d", len(got), len(want))
		}
		checkBlocks(t, set)
		windows, err := set.Windows(ctx, stormPage)
		t.Logf("%d changes in %d lists, %v", destinations[0].changes, len(windows), err)
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

// checkBlocks fails if sums do not match the rows.
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
