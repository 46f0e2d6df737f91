//go:build unix

package sqlstore

import (
	"fmt"
	"iter"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// BenchmarkFirstScan is the first scan of RESOURCESYNC_BENCH_ROWS resources. It compares the
// time that a resource takes with that of the first tenth of the same scan, which is the first
// scan of a million if there are ten million:
//
//	RESOURCESYNC_BENCH_ROWS=10000000 go test -run '^$' -bench FirstScan -benchtime 1x -timeout 2h ./adapters/sqlstore
//
// The resources are in folders of 1,000, or all in one folder. The CPU time is that of this process, without the server of PostgreSQL.
func BenchmarkFirstScan(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		for name, folder := range map[string]int{"folders": 1000, "one folder": rows()} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					benchFirstScan(b, e.make(b), folder)
				}
			})
		}
	})
}

func benchFirstScan(b *testing.B, db database, folder int) {
	set := db.open(b, nil).mustSet(b, "articles", &scan.SetOptions{AwaitScan: true})
	var tenth [2]time.Duration
	began, cpu := time.Now(), cpuTime(b)
	result, err := set.Scan(b.Context(), func(yield func(resourcesync.Resource, error) bool) {
		n := 0
		for r, err := range inFolders(rows(), folder) {
			if n++; n%(rows()/10) == 0 {
				b.Logf("%d: %v, %v of CPU", n, time.Since(began), cpuTime(b)-cpu)
			}
			if n == rows()/10 {
				tenth = [2]time.Duration{time.Since(began), cpuTime(b) - cpu}
			}
			if !yield(r, err) {
				return
			}
		}
	})
	all := [2]time.Duration{time.Since(began), cpuTime(b) - cpu}
	if err != nil || result != (resourcesync.ScanResult{Created: rows()}) {
		b.Fatalf("%+v, %v", result, err)
	}
	micros := func(d time.Duration) float64 { return d.Seconds() / float64(rows()) * 1e6 }
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{"", "CPU-"} {
		b.ReportMetric(10*micros(tenth[i]), "tenth-"+name+"µs/row")
		b.ReportMetric(micros(all[i]), name+"µs/row")
		b.ReportMetric(micros(all[i])/micros(tenth[i])/10, name+"ratio")
	}
}

// inFolders yields n resources in the order of their keys, some in each folder.
func inFolders(n, folder int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for i := range n {
			key := fmt.Sprintf("%05d/article-%08d.html", i/folder, i)
			r := article(0)
			r.Key, r.URI = key, "https://www.example.org/articles/"+key
			if !yield(r, nil) {
				return
			}
		}
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
