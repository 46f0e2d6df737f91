package objectstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/static"
)

// A timed client notes when each change is in the bucket. The n-th change has the type text/n-N.
type timed struct {
	objectstore.Client
	mu          sync.Mutex
	puts, bytes int64
	committed   []time.Time // of each change
	seen        int         // changes in the bucket
	delays      []time.Duration
}

func (c *timed) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, h objectstore.Header, cond objectstore.Condition) (string, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	etag, err := c.Client.Put(ctx, key, bytes.NewReader(text), size, h, cond)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.puts, c.bytes = c.puts+1, c.bytes+size; err != nil || !strings.Contains(key, "/changelist") {
		return etag, err
	}
	const mark = "text/n-"
	if i := bytes.LastIndex(text, []byte(mark)); i >= 0 {
		digits, _, _ := strings.Cut(string(text[i+len(mark):min(i+30, len(text))]), `"`)
		n, _ := strconv.Atoi(digits)
		for ; c.seen <= n && c.seen < len(c.committed); c.seen++ {
			c.delays = append(c.delays, now.Sub(c.committed[c.seen]))
		}
	}
	return etag, err
}

// BenchmarkPublication measures PUTs, bytes and delays of a Publication of RESOURCESYNC_BENCH_ROWS resources
// (20,000) at 1 and 100 changes per second, for RESOURCESYNC_BENCH_SECONDS (10) each. A day is 86,400 s of
// the same.
func BenchmarkPublication(b *testing.B) {
	rows, seconds := fromEnvironment(b, "RESOURCESYNC_BENCH_ROWS", 20_000), fromEnvironment(b, "RESOURCESYNC_BENCH_SECONDS", 10)
	bucket := s3test.New(b)
	client := &timed{Client: s3bucket.Objects{Client: bucket.Client, Bucket: bucket.Name}}
	s := newSite(b, client)
	s.open(&scan.SetOptions{AwaitScan: true})
	entry := func(i int, text string) resourcesync.Resource {
		r := resource(i, text)
		r.Key = fmt.Sprintf("folder-%05d/file-%08d.txt", i/1000, i)
		r.URI = origin + "/papers/" + r.Key
		r.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i*7919*7919)}}
		return r
	}
	_, err := s.set.Scan(b.Context(), func(yield func(resourcesync.Resource, error) bool) {
		for i := range rows {
			if !yield(entry(i, "plain"), nil) {
				return
			}
		}
	})
	must(b, err)
	src, err := static.New(origin+"/rs/", []static.Set{{Name: "papers", Provider: s.set}}, nil)
	must(b, err)
	store, err := objectstore.New(client, &s.Objects)
	must(b, err)
	p := static.NewPublication(store, src, &static.PublicationOptions{Options: s.options})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	running.Go(func() { _ = s.store.Run(ctx) })
	defer running.Wait()
	defer cancel()
	must(b, p.Await(b.Context()))
	for _, rate := range []int{1, 100} {
		b.Run(fmt.Sprintf("rows=%d/rate=%d", rows, rate), func(b *testing.B) {
			for b.Loop() {
				client.mu.Lock()
				client.puts, client.bytes, client.delays = 0, 0, nil
				client.mu.Unlock()
				tick := time.NewTicker(time.Second / time.Duration(rate))
				for range seconds * rate {
					<-tick.C
					n := len(client.committed)
					must(b, s.set.Put(b.Context(), entry(n*7919%rows, fmt.Sprint("n-", n))))
					client.mu.Lock()
					client.committed = append(client.committed, time.Now())
					client.mu.Unlock()
				}
				tick.Stop()
				client.mu.Lock()
				puts, stored := client.puts, client.bytes
				client.mu.Unlock()
				must(b, p.Await(b.Context()))
				client.mu.Lock()
				slices.Sort(client.delays)
				b.ReportMetric(float64(puts)/float64(seconds)*86_400, "PUTs/day")
				b.ReportMetric(float64(stored)/float64(seconds)*86_400/1e9, "GB/day")
				b.ReportMetric(client.delays[len(client.delays)/2].Seconds(), "s-median")
				b.ReportMetric(client.delays[len(client.delays)-1].Seconds(), "s-longest")
				b.ReportMetric(float64(len(client.delays)), "changes")
				client.mu.Unlock()
			}
		})
	}
}

func fromEnvironment(b *testing.B, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	must(b, err)
	return n
}
