package static

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// BenchmarkOneChange writes the documents after one change in a set of
// RESOURCESYNC_BENCH_ROWS resources, as a new process does. Scanning is not part of it.
func BenchmarkOneChange(b *testing.B) {
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_BENCH_ROWS"), "50000"))
	must(b, err)
	s := newSite(b)
	s.options.Division.PageSize = 0
	s.open(nil, &scan.SetOptions{AwaitScan: true})
	resource := func(i int, text string) resourcesync.Resource {
		key := fmt.Sprintf("folder-%03d/file-%07d.txt", i/1000, i)
		return resourcesync.Resource{Key: key, URI: origin + "/papers/" + key, Type: "text/" + text, Length: resourcesync.Bytes(int64(i)),
			Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i)}}}
	}
	_, err = s.set.Scan(b.Context(), func(yield func(resourcesync.Resource, error) bool) {
		for i := range rows {
			if !yield(resource(i, "plain"), nil) {
				return
			}
		}
	})
	must(b, err)
	first := s.write(Options{})
	b.Logf("first: %d documents, %d bytes", first.Documents, first.Bytes)
	changes := 0
	b.Run("changed", func(b *testing.B) {
		written := 0
		for b.Loop() {
			b.StopTimer()
			changes++
			must(b, s.set.Put(b.Context(), resource(rows/3+changes, "html")))
			b.StartTimer()
			written = max(written, len(s.write(Options{}).Written))
		}
		b.ReportMetric(float64(written), "files")
	})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if report := s.write(Options{}); len(report.Written) > 0 {
				b.Fatalf("written: %q", report.Written)
			}
		}
	})
}
