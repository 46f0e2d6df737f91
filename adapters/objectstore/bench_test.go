package objectstore_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A measured client counts all requests that store objects, and their bytes.
type measured struct {
	objectstore.Client
	puts, bytes int64
}

func (m *measured) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, c objectstore.Condition) (string, error) {
	etag, err := m.Client.Put(ctx, key, body, size, h, c)
	if err == nil {
		m.puts++
		m.bytes += size
	}
	return etag, err
}

// BenchmarkRun measures what runs for 10,000 resources store: the first one, one without a change, and
// one after a change.
func BenchmarkRun(b *testing.B) {
	for _, zipped := range []bool{false, true} {
		bucket := s3test.New(b)
		client := &measured{Client: s3bucket.Objects{Client: bucket.Client, Bucket: bucket.Name}}
		s := newSite(b, client)
		s.options.Gzip, s.page = zipped, 0
		s.open(&scan.SetOptions{AwaitScan: true})
		entry := func(i int, text string) resourcesync.Resource {
			r := resource(i, text)
			r.Key = fmt.Sprintf("folder-%03d/file-%07d.txt", i/1000, i)
			r.URI = origin + "/papers/" + r.Key
			r.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i*7919*7919)}}
			return r
		}
		_, err := s.set.Scan(b.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for i := range 10_000 {
				if !yield(entry(i, "plain"), nil) {
					return
				}
			}
		})
		must(b, err)
		changes := 0
		for _, run := range []string{"first", "unchanged", "changed"} {
			b.Run(fmt.Sprintf("%s/gzip=%t", run, zipped), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					if run == "changed" {
						changes++
						must(b, s.set.Put(b.Context(), entry(5000+changes, "html")))
					}
					client.puts, client.bytes = 0, 0
					b.StartTimer()
					s.write()
				}
				b.ReportMetric(float64(client.puts), "PUTs")
				b.ReportMetric(float64(client.bytes), "stored-bytes")
			})
		}
	}
}
