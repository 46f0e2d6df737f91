package sqltable

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A hosted is a table of SQLite that a host writes to, with or without triggers.
type hosted struct {
	*database
	papers *Journalled // nil without triggers
}

const hostRows = 100_000

func newHosted(b *testing.B, triggers bool) *hosted {
	pool, err := sqlitex.NewPool(filepath.Join(b.TempDir(), "test.db"), sqlitex.PoolOptions{
		PoolSize: 32,
		PrepareConn: func(conn *sqlite.Conn) error {
			return execSQLite(conn, "PRAGMA synchronous="+cmp.Or(os.Getenv("RESOURCESYNC_BENCH_SYNC"), "FULL"))
		},
	})
	must(b, err)
	b.Cleanup(func() { must(b, pool.Close()) })
	d := sqliteDatabase(b)
	h := &hosted{database: d}
	d.lite = pool
	d.exec = func(sql string, args ...any) error {
		conn, err := pool.Take(b.Context())
		if err != nil {
			return err
		}
		defer pool.Put(conn)
		return execSQLite(conn, sql, args...)
	}
	d.open = func(ctx context.Context, t Table) (*Set, error) { return OpenSQLite(ctx, pool, t) }
	d.run("CREATE TABLE papers (id INTEGER PRIMARY KEY, title TEXT, updated INTEGER NOT NULL, body TEXT)",
		fmt.Sprintf("INSERT INTO papers SELECT i, 'paper ' || i, 1700000000 + i, printf('%%0200d', i) FROM (WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", hostRows))
	if !triggers {
		return h
	}
	store := h.journal()
	src, err := rshttp.New("https://example.org/", []rshttp.Set{{Name: "papers", Provider: h.papers}}, &rshttp.Options{Store: store, Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	ctx, stop := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- src.Run(ctx) }()
	b.Cleanup(func() { stop(); must(b, <-stopped) })
	w := httptest.NewRecorder()
	src.ServeHTTP(w, httptest.NewRequest("GET", "/papers/changelist.xml", nil))
	if w.Code != http.StatusOK {
		b.Fatal(w.Code)
	}
	return h
}

// journal creates the triggers. Nobody numbers the changes yet.
func (h *hosted) journal() *sqlstore.Store {
	store := h.store()
	papers, err := h.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/papers/{id}", LastModified: "updated"}).Journal(h.t.Context(), store, "papers", nil)
	must(h.t, err)
	h.papers = papers
	return store
}

// write commits single rows by some writers for a while, and returns the duration of
// each transaction.
func (h *hosted) write(writers int, span time.Duration) (took []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range writers {
		wg.Go(func() {
			conn, err := h.lite.Take(h.t.Context())
			must(h.t, err)
			defer h.lite.Put(conn)
			stmt := conn.Prep("UPDATE papers SET updated = updated + 1 WHERE id = $1")
			var own []time.Duration
			for time.Now().Before(end) {
				began := time.Now()
				stmt.BindInt64(1, 1+rand.Int64N(hostRows))
				_, err := stmt.Step()
				must(h.t, err)
				must(h.t, stmt.Reset())
				own = append(own, time.Since(began))
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return took
}

// settle waits until no change is pending.
func (h *hosted) settle() {
	for pending := 1; pending > 0; time.Sleep(time.Millisecond) {
		pending = 0
		h.rows("SELECT 1 FROM rs_pending LIMIT 1", func(rowdb.Row) error { pending++; return nil })
	}
}

// lag returns the times from the commit of changes to their publication, while f runs.
func (h *hosted) lag(pause time.Duration, f func()) (lags []time.Duration) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
			key := 1 + rand.IntN(hostRows)
			from, err := h.papers.Stat(h.t.Context(), resourcesync.Range{})
			must(h.t, err)
			must(h.t, h.exec(fmt.Sprintf("UPDATE papers SET updated = updated + 1 WHERE id = %d", key)))
			committed := time.Now()
			at := from.LastModified
			for found := false; !found; time.Sleep(2 * time.Millisecond) {
				if now, err := h.papers.Stat(h.t.Context(), resourcesync.Range{}); err != nil || !now.LastModified.After(at) {
					must(h.t, err)
					continue
				}
				for c, err := range h.papers.Changes(h.t.Context(), resourcesync.Interval{From: at}) {
					must(h.t, err)
					at = c.Datetime
					found = found || c.Resource.Key == string(appendInteger(nil, int64(key)))
				}
			}
			lags = append(lags, time.Since(committed))
		}
	})
	f()
	close(done)
	wg.Wait()
	return lags
}

// rate commits single rows by some writers for half a second, after a warm-up, so that as
// many changes are pending at the end as at the beginning.
func (h *hosted) rate(writers int) (took []time.Duration) {
	h.write(writers, 2*hostRest)
	return h.write(writers, 500*time.Millisecond)
}

// hostRest is the longest time between two transactions of the sequencer while changes are
// pending.
const hostRest = 120 * time.Millisecond

// newFloor returns a table with minimal triggers: they insert two integers into another
// table, which nobody reads.
func newFloor(b *testing.B) *hosted {
	h := newHosted(b, false)
	h.run("CREATE TABLE noted (id INTEGER PRIMARY KEY, paper INTEGER NOT NULL)",
		"CREATE TRIGGER note AFTER UPDATE ON papers BEGIN INSERT INTO noted (paper) VALUES (NEW.id); END")
	return h
}

// BenchmarkHost writes single rows to a table with triggers, whose changes are published
// meanwhile, and to the same table without, in turns of half a second: without, with, with,
// without. ratio is the median of these, between the quartiles low and high. floor is the same
// ratio for the table of newFloor, and unnumbered for a table with our triggers whose changes
// nobody numbers, in turns between them. The lag is measured in a separate turn, because
// requesting changes takes time, too.
//
// RESOURCESYNC_BENCH_SYNC sets PRAGMA synchronous for both. The default is FULL.
func BenchmarkHost(b *testing.B) {
	for _, writers := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d writers", writers), func(b *testing.B) {
			with, without, least, alone := newHosted(b, true), newHosted(b, false), newFloor(b), newHosted(b, false)
			alone.journal()
			var ratios, floors, unnumbered []float64
			var ours, theirs, lags []time.Duration
			for b.Loop() {
				a := without.rate(writers)
				f := least.rate(writers)
				u := alone.rate(writers)
				c := append(with.rate(writers), with.rate(writers)...)
				with.settle()
				u = append(u, alone.rate(writers)...)
				alone.run("DELETE FROM rs_pending")
				f = append(f, least.rate(writers)...)
				a = append(a, without.rate(writers)...)
				floors = append(floors, float64(len(f))/float64(len(a)))
				unnumbered = append(unnumbered, float64(len(u))/float64(len(a)))
				ours, theirs = append(ours, c...), append(theirs, a...)
				ratios = append(ratios, float64(len(c))/float64(len(a)))
				lags = append(lags, with.lag(50*time.Millisecond, func() { with.write(writers, time.Second) })...)
				with.settle()
			}
			slices.Sort(ratios)
			slices.Sort(floors)
			slices.Sort(unnumbered)
			at := func(d []time.Duration, q float64) float64 {
				slices.Sort(d)
				return float64(d[int(q*float64(len(d)-1))]) / float64(time.Millisecond)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(theirs))/float64(len(ratios)), "theirs/s")
			b.ReportMetric(ratios[len(ratios)/4], "low")
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(ratios[len(ratios)*3/4], "high")
			b.ReportMetric(floors[len(floors)/2], "floor")
			b.ReportMetric(unnumbered[len(unnumbered)/2], "unnumbered")
			b.ReportMetric(at(ours, 0.99), "ours-p99-ms")
			b.ReportMetric(at(theirs, 0.99), "theirs-p99-ms")
			b.ReportMetric(at(lags, 0.5), "lag-p50-ms")
			b.ReportMetric(at(lags, 0.95), "lag-p95-ms")
			b.ReportMetric(at(lags, 1), "lag-max-ms")
			idle := with.lag(200*time.Millisecond, func() { time.Sleep(3 * time.Second) })
			b.ReportMetric(at(idle, 0.5), "idle-lag-p50-ms")
			b.ReportMetric(at(idle, 1), "idle-lag-max-ms")
		})
	}
}
