package sqlstore

import (
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// rows is how many resources large sets have in benchmarks.
// RESOURCESYNC_BENCH_ROWS raises it to what is to be claimed.
func rows() int { return setting("RESOURCESYNC_BENCH_ROWS", 50_000) }

// maxScanMemory is how much memory a scan may take, in MiB, whatever it scans.
const maxScanMemory = 32

// BenchmarkScan takes in a listing for the first time, and again when nothing has
// changed, which writes nothing and takes no more memory than maxScanMemory.
func BenchmarkScan(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		b.Run("first", func(b *testing.B) {
			for b.Loop() {
				filled(b, e, rows())
			}
			perRow(b)
		})
		db, set := filled(b, e, rows())
		b.Run("unchanged", func(b *testing.B) {
			before := written(b, db, set)
			debug.FreeOSMemory()
			resident := memory(b, "VmRSS:")
			if resident > 0 {
				os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is measured from here
			}
			for b.Loop() {
				result, err := set.Scan(b.Context(), articles(rows()))
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
			perRow(b)
		})
	})
}

// BenchmarkScanMoved takes in a listing that names half of what the set has, and
// one that names all of it at other URIs.
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

// memory is what the system says of the memory of this process under a name, in
// MiB; 0 where it says nothing.
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

// written changes when something is written to the store: it is the size of
// SQLite's write-ahead log, or the newest transaction in PostgreSQL's tables.
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
