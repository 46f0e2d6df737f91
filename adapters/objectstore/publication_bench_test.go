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
)

// puts are requests that store objects.
type puts struct{ count, bytes int64 }

func (p *puts) add(size int64) { p.count, p.bytes = p.count+1, p.bytes+size }

// A timed client notes when each change is in the bucket. The n-th change has the type text/n-N.
type timed struct {
	objectstore.Client
	mu        sync.Mutex
	all       puts
	lists     puts        // of those, Resource Lists
	listed    time.Time   // when the index of the Resource List was last stored
	committed []time.Time // of each change
	seen      int         // changes in the bucket
	delays    []time.Duration
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
	c.all.add(size)
	if strings.Contains(key, "/resourcelist") {
		c.lists.add(size)
	}
	if strings.HasSuffix(key, "/resourcelist.xml") {
		c.listed = now
	}
	if err != nil || !strings.Contains(key, "/changelist") {
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

// reset begins a new measurement.
func (c *timed) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.lists, c.delays, c.listed = puts{}, puts{}, nil, time.Time{}
}

// commit notes a change that has been made.
func (c *timed) commit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committed = append(c.committed, time.Now())
}

// awaitChanges waits until all changes are in the bucket, and returns their delays in ascending order.
func (c *timed) awaitChanges() []time.Duration {
	for {
		c.mu.Lock()
		missing, delays := len(c.committed)-c.seen, slices.Sorted(slices.Values(c.delays))
		c.mu.Unlock()
		if missing == 0 {
			return delays
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *timed) total() (all, lists puts, listed time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, c.lists, c.listed
}

// BenchmarkPublication measures PUTs, bytes and delays of a Publication of RESOURCESYNC_BENCH_ROWS resources
// (20,000), at 1 and 100 changes per second for RESOURCESYNC_BENCH_SECONDS (10) each: in the hour between two
// Resource Lists, of which a day is 86,400 s of the same, and while the Resource List is stored.
func BenchmarkPublication(b *testing.B) {
	rows, seconds := fromEnvironment(b, "RESOURCESYNC_BENCH_ROWS", 20_000), fromEnvironment(b, "RESOURCESYNC_BENCH_SECONDS", 10)
	bucket := s3test.New(b)
	client := &timed{Client: s3bucket.Objects{Client: bucket.Client, Bucket: bucket.Name}}
	s := newSite(b, client)
	s.page, s.window = 0, 0
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
	// change changes a resource in each tick until done.
	change := func(b *testing.B, rate int, done func(n int) bool) {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for n := 0; !done(n); n++ {
			<-tick.C
			i := len(client.committed)
			must(b, s.set.Put(b.Context(), entry(i*7919%rows, fmt.Sprint("n-", i))))
			client.commit()
		}
	}
	report := func(b *testing.B) {
		delays := client.awaitChanges()
		b.ReportMetric(delays[len(delays)/2].Seconds(), "s-median")
		b.ReportMetric(delays[len(delays)-1].Seconds(), "s-longest")
		b.ReportMetric(float64(len(delays)), "changes")
	}
	b.Run(fmt.Sprintf("rows=%d/first", rows), func(b *testing.B) {
		for b.Loop() {
			client.reset()
			p, stop := s.publishEvery(0, time.Hour)
			must(b, p.Await(b.Context()))
			stop()
			all, _, _ := client.total()
			b.ReportMetric(float64(all.count), "PUTs")
			b.ReportMetric(float64(all.bytes)/1e9, "GB")
		}
	})
	for _, rate := range []int{1, 100} {
		b.Run(fmt.Sprintf("rows=%d/rate=%d", rows, rate), func(b *testing.B) {
			for b.Loop() {
				p, stop := s.publishEvery(0, time.Hour)
				must(b, p.Await(b.Context()))
				client.reset()
				change(b, rate, func(n int) bool { return n == rate*seconds })
				all, _, _ := client.total()
				report(b)
				stop()
				b.ReportMetric(float64(all.count)/float64(seconds)*86_400, "PUTs/day")
				b.ReportMetric(float64(all.bytes)/float64(seconds)*86_400/1e9, "GB/day")
			}
		})
	}
	b.Run(fmt.Sprintf("rows=%d/rate=100/lists", rows), func(b *testing.B) {
		for b.Loop() {
			client.reset()
			begun := time.Now()
			_, stop := s.publishEvery(0, time.Second)
			change(b, 100, func(int) bool { _, _, listed := client.total(); return !listed.IsZero() })
			_, lists, listed := client.total()
			report(b)
			stop()
			b.ReportMetric(float64(lists.count), "list-PUTs")
			b.ReportMetric(float64(lists.bytes)/1e9, "list-GB")
			b.ReportMetric(listed.Sub(begun).Seconds(), "s-list")
		}
	})
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
