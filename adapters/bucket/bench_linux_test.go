package bucket_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"
	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// BenchmarkCompare compares a bucket without changes with its set, in turn with a listing by
// the bare client. RESOURCESYNC_TEST_OBJECTS is the number of objects.
func BenchmarkCompare(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("RESOURCESYNC_TEST_OBJECTS"))
	if err != nil {
		n = 2000
	}
	in := s3test.New(b)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			in.Put(b, fmt.Sprintf("%03d/%03d/record-%08d.xml", i/100_000, i/100%1000, i), "<record/>")
			return nil
		})
	}
	_ = g.Wait()

	counted := new(requests)
	client := s3.New(in.Client.Options(), func(o *s3.Options) { o.HTTPClient = counted })
	opened, err := s3blob.OpenBucket(b.Context(), client, in.Name, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer opened.Close()
	p := publish(b, opened, in.Public, bucket.Options{Service: s3bucket.Service{}, Private: true})
	begun := time.Now()
	p.scan(b, resourcesync.ScanResult{Created: n})
	first := time.Since(begun)

	var bare, compare time.Duration
	var memory int64
	for b.Loop() {
		begun = time.Now()
		objects := 0
		pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &in.Name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			objects += len(page.Contents)
		}
		if objects != n {
			b.Fatalf("%d objects", objects)
		}
		bare += time.Since(begun)

		counted.lists.Store(0)
		resetPeak(b)
		begun = time.Now()
		p.scan(b, resourcesync.ScanResult{Unchanged: n})
		compare += time.Since(begun)
		memory = max(memory, peak(b))
		if lists := counted.lists.Load(); lists > int64(n/1000+1) || counted.others.Load() > 0 {
			b.Errorf("%d requests for the list, %d others", lists, counted.others.Load())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first.Seconds(), "s/first")
	b.ReportMetric(bare.Seconds()/float64(b.N), "s/list")
	b.ReportMetric(compare.Seconds()/float64(b.N), "s/compare")
	b.ReportMetric(compare.Seconds()/bare.Seconds(), "compare/list")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
}

// requests counts those for lists, and others.
type requests struct{ lists, others atomic.Int64 }

func (c *requests) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("list-type") == "2" {
		c.lists.Add(1)
	} else {
		c.others.Add(1)
	}
	return http.DefaultClient.Do(r)
}

// resetPeak makes peak begin at the memory that the process uses now, without what earlier
// parts of the benchmark have left.
func resetPeak(b *testing.B) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peak returns the largest memory of the process, in bytes.
func peak(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
