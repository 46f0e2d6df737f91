package sqlstore

import (
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/scan"
)

// rows returns the number of resources of large sets in benchmarks.
// RESOURCESYNC_BENCH_ROWS raises it for published results.
func rows() int { return setting("RESOURCESYNC_BENCH_ROWS", 50_000) }

// maxScanMemory is the maximum memory of a scan, in MiB, for any listing: the keys that
// it has seen take up to 16 MiB, and as much again while their table grows.
const maxScanMemory = 64

// BenchmarkScan scans a listing for the first time, and again when nothing has changed,
// which writes nothing and takes no more memory than maxScanMemory. The first time is
// compared with inserting the same rows in the same order into the same table, with as
// many to a commit and the same durability. Neither includes the time to create the
// resources or rows.
func BenchmarkScan(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		b.Run("first", func(b *testing.B) {
			var ours, bare []time.Duration
			for b.Loop() {
				ours = append(ours, timeScan(b, e))
				bare = append(bare, timeInserts(b, e))
			}
			slices.Sort(ours)
			slices.Sort(bare)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ours[len(ours)/2].Seconds()/float64(rows())*1e6, "µs/row")
			b.ReportMetric(bare[len(bare)/2].Seconds()/float64(rows())*1e6, "bare-µs/row")
			b.ReportMetric(float64(bare[len(bare)/2])/float64(ours[len(ours)/2]), "rate")
		})
		db, set := filled(b, e, rows())
		b.Run("unchanged", func(b *testing.B) {
			before := written(b, db, set)
			debug.FreeOSMemory()
			resident := memory(b, "VmRSS:")
			if resident > 0 {
				os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is measured from here
			}
			var making time.Duration
			for b.Loop() {
				result, err := set.Scan(b.Context(), prepared(&making))
				if err != nil || result != (resourcesync.ScanResult{Unchanged: rows()}) {
					b.Fatalf("%+v, %v", result, err)
				}
			}
			if after := written(b, db, set); after != before {
				b.Errorf("the store was written to: %d, %d", before, after)
			}
			grown := memory(b, "VmHWM:") - resident
			if grown > maxScanMemory {
				b.Errorf("memory has grown by %.1f MiB, of %d at most", grown, maxScanMemory)
			}
			b.ReportMetric(grown, "MiB")
			b.ReportMetric((b.Elapsed()-making).Seconds()/float64(b.N)/float64(rows())*1e6, "µs/row")
		})
	})
}

// prepared yields resources that it creates in advance, a few at a time, and adds up
// the time for that.
func prepared(making *time.Duration) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		const some = 5000
		for first := 0; first < rows(); first += some {
			started := time.Now()
			all := make([]resourcesync.Resource, min(some, rows()-first))
			for i := range all {
				all[i] = article(first + i)
			}
			*making += time.Since(started)
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// timeScan returns the duration of the first scan.
func timeScan(b *testing.B, e engine) time.Duration {
	set := e.make(b).open(b, nil).mustSet(b, "articles", &scan.SetOptions{AwaitScan: true})
	var making time.Duration
	started := time.Now()
	if _, err := set.Scan(b.Context(), prepared(&making)); err != nil {
		b.Fatal(err)
	}
	return time.Since(started) - making
}

// timeInserts returns the time that the driver needs to insert the rows of the first
// scan.
func timeInserts(b *testing.B, e engine) (took time.Duration) {
	db := e.make(b)
	db.open(b, nil).mustSet(b, "articles", nil)
	insert := bareInserts(b, db)
	var builder entries.Builder
	var some [][]any
	flush := func() {
		started := time.Now()
		insert(some)
		took += time.Since(started)
		some = nil
	}
	now := time.Now().UnixMicro()
	for r := range articles(rows()) {
		some = append(some, []any{1, []byte(r.Key), now, builder.ResourceSize(&r), places{stemBits: 16}.of(r.URI), codec.Append(nil, &r)})
		if len(some) == firstBatch {
			flush()
		}
	}
	flush()
	return took
}

// bareInserts returns a function that inserts rows in a transaction with only the
// driver.
func bareInserts(b *testing.B, db database) func(rows [][]any) {
	b.Helper()
	const statement = "INSERT INTO rs_resource (set_id, key, newest, size, place, body) VALUES ($1, $2, $3, $4, $5, $6)"
	if db.isPostgres() {
		pool, err := pgxpool.New(b.Context(), string(db))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pool.Close)
		return func(rows [][]any) {
			var batch pgx.Batch // in one transaction
			for _, r := range rows {
				batch.Queue(statement, r...)
			}
			if err := pool.SendBatch(b.Context(), &batch).Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	conn, err := sqlite.OpenConn(string(db), sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA synchronous=FULL", nil); err != nil {
		b.Fatal(err)
	}
	return func(rows [][]any) {
		end := sqlitex.Transaction(conn)
		stmt := conn.Prep(statement)
		for _, r := range rows {
			stmt.BindInt64(1, 1)
			stmt.BindBytes(2, r[1].([]byte))
			stmt.BindInt64(3, r[2].(int64))
			stmt.BindInt64(4, int64(r[3].(int)))
			stmt.BindInt64(5, r[4].(int64))
			stmt.BindBytes(6, r[5].([]byte))
			if _, err := stmt.Step(); err != nil {
				b.Fatal(err)
			}
			stmt.Reset()
		}
		var err error
		if end(&err); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanMoved scans a listing with half of the resources of the set, and one
// with all of them at other URIs.
func BenchmarkScanMoved(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		scan := func(b *testing.B, listing iter.Seq2[resourcesync.Resource, error]) {
			for b.Loop() {
				b.StopTimer()
				_, set := filled(b, e, rows())
				b.StartTimer()
				result, err := set.Scan(b.Context(), listing)
				if err != nil || result.Deleted+result.Updated == 0 {
					b.Fatalf("%+v, %v", result, err)
				}
			}
			perRow(b)
		}
		b.Run("half deleted", func(b *testing.B) { scan(b, articles(rows()/2)) })
		b.Run("new base URL", func(b *testing.B) {
			scan(b, func(yield func(resourcesync.Resource, error) bool) {
				for r, err := range articles(rows()) {
					r.URI = strings.Replace(r.URI, "https://", "http://", 1)
					if !yield(r, err) {
						return
					}
				}
			})
		})
	})
}

// memory returns the system's figure for the memory of this process under a name, in
// MiB, or 0 if there is none.
func memory(b *testing.B, name string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), name)
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func perRow(b *testing.B) {
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(rows())*1e6, "µs/row")
}

// written returns a value that changes when something is written to the store: the size
// of SQLite's write-ahead log, or the newest transaction in PostgreSQL's tables.
func written(t testing.TB, db database, set *Set) int64 {
	t.Helper()
	if db.isPostgres() {
		return count(t, set.store, `SELECT max(x::text::bigint) FROM (SELECT xmin FROM rs_set UNION ALL SELECT xmin FROM rs_resource
			UNION ALL SELECT xmin FROM rs_block UNION ALL SELECT xmin FROM rs_change) AS all_rows (x)`)
	}
	info, err := os.Stat(string(db) + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
