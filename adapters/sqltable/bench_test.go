package sqltable

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// large creates a table of n rows, inserted in the order of their keys.
func large(d *database, n int) *Set {
	d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, slug {plain} NOT NULL, at {int}, bytes {int}, kind {plain}, sum {plain})")
	if d.pg != nil {
		d.session(func(exec func(string) error) {
			// VACUUM sees only rows that are certainly on disk.
			must(d.t, exec("SET synchronous_commit = on"))
			must(d.t, exec(fmt.Sprintf(`INSERT INTO papers SELECT i, 'a-paper-about-' || i, 1700000000 + i, i, 'application/pdf', md5(i::text) || md5(i::text) FROM generate_series(1, %d) i`, n)))
			must(d.t, exec("VACUUM ANALYZE papers"))
		})
	} else {
		d.run(fmt.Sprintf(`INSERT INTO papers SELECT i, 'a-paper-about-' || i, 1700000000 + i, i, 'application/pdf', printf('%%064x', i)
			FROM (WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)`, n), "ANALYZE")
	}
	return d.provider(Table{
		Name: "papers", Key: "id", URI: "https://example.org/papers/{slug}", LastModified: "at", Length: "bytes", Type: "kind",
		Hashes: map[string]string{"sha-256": "sum"},
	})
}

// pageTo is the range of a page that ends with the id last.
func pageTo(last, size int) resourcesync.Range {
	return resourcesync.Range{From: string(appendInteger(nil, int64(last-size+1))), To: string(appendInteger(nil, int64(last+1)))}
}

func readPage(t testing.TB, ctx context.Context, p *Set, r resourcesync.Range, want int) {
	n := 0
	for _, err := range p.Resources(ctx, r) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != want {
		t.Fatalf("%d resources, want %d", n, want)
	}
}

// bare reads the rows of a page with only the driver, into one buffer.
func (d *database) bare(ctx context.Context, first, last, want int) {
	const sql = "SELECT id, slug, at, bytes, kind, sum FROM papers WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT 50000"
	n := 0
	var buf []byte
	if d.pg != nil {
		rows, err := d.pg.Query(ctx, sql, first, last)
		must(d.t, err)
		for rows.Next() {
			buf = buf[:0]
			for _, v := range rows.RawValues() {
				buf = append(buf, v...)
			}
			n++
		}
		must(d.t, rows.Err())
	} else {
		conn, err := d.lite.Take(ctx)
		must(d.t, err)
		defer d.lite.Put(conn)
		stmt, err := conn.Prepare(sql)
		must(d.t, err)
		defer stmt.Reset()
		stmt.BindInt64(1, int64(first))
		stmt.BindInt64(2, int64(last))
		buf = make([]byte, 1000)
		for {
			found, err := stmt.Step()
			must(d.t, err)
			if !found {
				break
			}
			used := 0
			for _, column := range []int{1, 4, 5} {
				used += stmt.ColumnBytes(column, buf[used:])
			}
			n += int(min(1, stmt.ColumnInt64(0)+stmt.ColumnInt64(2)+stmt.ColumnInt64(3)))
		}
	}
	if n != want {
		d.t.Fatalf("%d rows, want %d", n, want)
	}
}

// TestAllocations: a resource costs one allocation, its string.
func TestAllocations(t *testing.T) {
	// Sequentially and with nothing else running, because all allocations count.
	for _, engine := range []func(testing.TB) *database{postgresDatabase, sqliteDatabase} {
		d := engine(t)
		const size = 3000
		p := large(d, 2*size)
		allocations := testing.AllocsPerRun(5, func() { readPage(t, t.Context(), p, pageTo(2*size-10, size), size) })
		if allocations > size+200 {
			t.Errorf("%s: %v allocations for %d resources", d.name, allocations, size)
		}
	}
}

// rows returns the size of the table of benchmarks.
func rows(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("RESOURCESYNC_BENCH_ROWS"))
	if err != nil {
		n = 100_000
	}
	return n
}

// compare runs two functions in turn and reports the medians of their times in
// milliseconds, and the ratio of the first to the second.
func compare(b *testing.B, ours, theirs func()) {
	var a, c []time.Duration
	took := func(f func()) time.Duration {
		started := time.Now()
		f()
		return time.Since(started)
	}
	ours()
	theirs()
	for b.Loop() {
		a, c = append(a, took(ours)), append(c, took(theirs))
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2]) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(a), "ours-ms")
	b.ReportMetric(median(c), "theirs-ms")
	b.ReportMetric(median(a)/median(c), "ratio")
}

func BenchmarkEngines(b *testing.B) {
	for _, engine := range []func(testing.TB) *database{postgresDatabase, sqliteDatabase} {
		d := engine(b)
		b.Run(d.name, func(b *testing.B) {
			d.t = b
			n := rows(b)
			size := min(10_000, n/2)
			p := large(d, n)
			ctx := b.Context()
			b.Run("page or driver", func(b *testing.B) {
				compare(b, func() { readPage(b, ctx, p, pageTo(n/2, size), size) }, func() { d.bare(ctx, n/2-size+1, n/2, size) })
			})
			b.Run("last page or first", func(b *testing.B) {
				compare(b, func() { readPage(b, ctx, p, resourcesync.Range{From: pageTo(n, size).From}, size) },
					func() { readPage(b, ctx, p, resourcesync.Range{To: pageTo(size, size).To}, size) })
			})
			count := func() {
				d.rows("SELECT count(*) FROM papers", func(rowdb.Row) error { return nil })
			}
			b.Run("cuts or count", func(b *testing.B) {
				compare(b, func() {
					_, err := p.Cuts(ctx, nil, size)
					must(b, err)
				}, count)
			})
			previous, err := p.Cuts(ctx, nil, size)
			must(b, err)
			b.Run("cuts again or count", func(b *testing.B) {
				compare(b, func() {
					_, err := p.Cuts(ctx, previous, size)
					must(b, err)
				}, count)
			})
		})
	}
}
