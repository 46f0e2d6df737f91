package sqlstore

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/scan"
)

// articles yields n resources that are typical of a large site.
func articles(n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range n {
			if !yield(article(i), nil) {
				return
			}
		}
	}
}

func article(i int) resourcesync.Resource {
	key := fmt.Sprintf("2026/%02d/article-%08d.html", i%12, i)
	return resourcesync.Resource{
		Key:          key,
		URI:          "https://www.example.org/articles/" + key,
		LastModified: newClock().now,
		Length:       resourcesync.Bytes(int64(10_000 + i)),
		Type:         "text/html",
		Hashes: []resourcesync.Hash{
			{Algorithm: "md5", Digest: fmt.Sprintf("%x", md5.Sum([]byte(key)))},
			{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(key)))},
		},
		Stamp: fmt.Sprintf("%x-%x", i, 10_000+i),
	}
}

// filled returns a database with a set of n resources.
func filled(b *testing.B, e engine, n int) (database, *Set) {
	b.Helper()
	db := e.make(b)
	set := db.open(b, nil).mustSet(b, "articles", &scan.SetOptions{AwaitScan: true})
	if _, err := set.Scan(b.Context(), articles(n)); err != nil {
		b.Fatal(err)
	}
	if db.isPostgres() {
		set.store.db.Do(b.Context(), func(c rowdb.Conn) error { return c.Script(b.Context(), "VACUUM ANALYZE rs_resource") })
	}
	return db, set
}

func benchEngines(b *testing.B, bench func(b *testing.B, e engine)) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) { bench(b, e) })
	}
}

// compare measures ours and theirs in turn, so that both run under the same conditions,
// and reports the medians in milliseconds and their ratio. Neither collects the garbage
// of the other.
func compare(b *testing.B, ours, theirs func()) {
	b.Helper()
	compareAfter(b, func() {}, ours, theirs)
}

// compareAfter is compare with a function that runs before each round.
func compareAfter(b *testing.B, before, ours, theirs func()) {
	b.Helper()
	var times [2][]time.Duration
	for b.Loop() {
		before()
		for i, f := range []func(){ours, theirs} {
			runtime.GC()
			started := time.Now()
			f()
			times[i] = append(times[i], time.Since(started))
		}
	}
	var medians [2]float64
	for i, t := range times {
		slices.Sort(t)
		medians[i] = float64(t[len(t)/2]) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(medians[0], "ours-ms")
	b.ReportMetric(medians[1], "theirs-ms")
	b.ReportMetric(medians[0]/medians[1], "ratio")
}

// readAll reads r and fails unless there are n resources.
func readAll(b *testing.B, set *Set, r resourcesync.Range, n int) {
	for _, err := range set.Resources(b.Context(), r) {
		if err != nil {
			b.Fatal(err)
		}
		n--
	}
	if n != 0 {
		b.Fatalf("%d resources are missing", n)
	}
}

// BenchmarkPage reads a page of 10,000 resources; theirs is the native driver
// reading the same rows and copying their values.
func BenchmarkPage(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		const n, every = 50_000, 10_000
		db, set := filled(b, e, n)
		cuts, err := set.Cuts(b.Context(), nil, every)
		if err != nil {
			b.Fatal(err)
		}
		page := resourcesync.Range{From: cuts[2].Key, To: cuts[3].Key}
		scan := bare(b, db)
		compare(b,
			func() { readAll(b, set, page, every) },
			func() {
				if got := scan(page); got != every {
					b.Fatal(got)
				}
			})
	})
}

var kept string

// bare returns a scan of a page with only the driver.
func bare(b *testing.B, db database) func(r resourcesync.Range) int {
	b.Helper()
	if db.isPostgres() {
		pool, err := pgxpool.New(b.Context(), string(db))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pool.Close)
		return func(r resourcesync.Range) (n int) {
			rows, err := pool.Query(context.Background(), "SELECT key, body FROM rs_resource WHERE set_id = 1 AND key >= $1 AND key < $2 ORDER BY key", []byte(r.From), []byte(r.To))
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			for rows.Next() {
				v := rows.RawValues()
				buf = append(append(buf[:0], v[0]...), v[1]...)
				kept = string(buf)
				n++
			}
			if rows.Err() != nil {
				b.Fatal(rows.Err())
			}
			return n
		}
	}
	conn, err := sqlite.OpenConn(string(db), sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	buf := make([]byte, 1000)
	return func(r resourcesync.Range) (n int) {
		stmt := conn.Prep("SELECT key, body FROM rs_resource WHERE set_id = 1 AND key >= ?1 AND key < ?2 ORDER BY key")
		stmt.BindBytes(1, []byte(r.From))
		stmt.BindBytes(2, []byte(r.To))
		for {
			found, err := stmt.Step()
			if err != nil {
				b.Fatal(err)
			}
			if !found {
				return n
			}
			k := stmt.ColumnBytes(0, buf)
			k += stmt.ColumnBytes(1, buf[k:])
			kept = string(buf[:k])
			n++
		}
	}
}
