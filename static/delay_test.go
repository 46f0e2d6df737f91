package static

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A slowSet takes time for each read.
type slowSet struct{ scan.Stored }

func (s slowSet) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	time.Sleep(4 * time.Second)
	return s.Stored.Resources(ctx, r)
}

func (slowSet) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if err := background.Sleep(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	return contents{}.Open(ctx, r)
}

// TestPublicationDelay: a change is in the Change List within 5 seconds at any moment, however long a page, a
// package, a list of recent changes, or the removal of old files takes.
func TestPublicationDelay(t *testing.T) {
	needs.Time(t)
	synctest.Test(t, func(t *testing.T) {
		const goal = 5 * time.Second
		papers := memory.New(&memory.Options{Window: time.Hour})
		maps := memory.New(&memory.Options{Window: time.Hour})
		scans := memory.New(nil) // change seldom, because a package that changes meanwhile is not written
		written := make(map[string]int)
		var (
			mu        sync.Mutex
			committed []time.Time
			seen      int
			longest   time.Duration
		)
		out := &remote{files: make(map[string][]byte)}
		out.takes = func(name string) time.Duration {
			switch {
			case strings.HasSuffix(name, "/recent.xml"):
				return 20 * time.Second
			case isPackage(name):
				return time.Minute
			case strings.Contains(name, "/changelist"):
				return 200 * time.Millisecond
			case strings.Contains(name, ".static."):
				return 100 * time.Millisecond
			}
			return 2 * time.Second
		}
		out.wrote = func(name string) {
			kind, _, _ := strings.Cut(strings.TrimPrefix(name, "rs/"), "/2")
			newest := -1
			if strings.Contains(name, "/papers/changelist") {
				newest = out.newest("papers")
			}
			mu.Lock()
			defer mu.Unlock()
			written[path.Base(kind)]++
			if isPackage(name) {
				written["packages"]++
			}
			for ; seen <= newest && seen < len(committed); seen++ {
				longest = max(longest, time.Since(committed[seen]))
			}
		}
		put := func(n int) {
			i := n * 7 % 40
			r := resourcesync.Resource{Key: fmt.Sprintf("%04d", i), URI: fmt.Sprint(origin, "/papers/", i), Type: fmt.Sprint("text/n-", n), Length: resourcesync.Bytes(int64(len(fmt.Sprint("text/n-", n))))}
			must(t, papers.Put(t.Context(), r))
			must(t, maps.Put(t.Context(), r))
			if n < 40 || n%400 < 40 {
				must(t, scans.Put(t.Context(), r))
			}
			mu.Lock()
			defer mu.Unlock()
			committed = append(committed, time.Now())
		}
		for n := range 40 {
			put(n)
		}
		src, err := New(origin+"/rs/", []Set{{Name: "maps", Provider: slowSet{maps}, NoDumps: true}, {Name: "scans", Provider: slowSet{scans}}, {Name: "papers", Provider: slowSet{papers}, NoDumps: true}},
			&SourceOptions{Division: Division{PageSize: 10, PackageSize: 500}})
		must(t, err)
		p := NewPublication(out, src, &PublicationOptions{
			Options: Options{Grace: -1, DumpEvery: -1, Logger: slog.New(slog.DiscardHandler)}, ListEvery: 5 * time.Minute,
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		must(t, p.Await(t.Context()))
		mu.Lock()
		longest, seen = 0, len(committed)
		clear(written)
		mu.Unlock()
		for n := range 1800 {
			time.Sleep(time.Second)
			put(40 + n)
		}
		time.Sleep(goal)
		cancel()
		must(t, <-done)
		if seen != len(committed) || longest > goal {
			t.Errorf("%d of %d changes are in the Change List, after %v at most", seen, len(committed), longest)
		}
		if written["packages"] < 2 || written["resourcelist.xml"] < 4 || written["recent.xml"] < 10 || p.Status().Removed < 4 || p.Health(t.Context()) != nil {
			t.Errorf("written: %v, status %+v", written, p.Status())
		}
	})
}
