package memory

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestConcurrency writes, scans and reads at the same time, for the race detector, and
// checks that reads see all of a call or none of it.
func TestConcurrency(t *testing.T) {
	const pairs, rounds = 200, 40
	s := New(nil)
	version := func(n int) (resources []resourcesync.Resource) {
		for i := range pairs {
			resources = append(resources, resource(fmt.Sprintf("%03d", i), fmt.Sprint("/", n)))
		}
		return resources
	}
	put(t, s, version(0)...)

	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	readers.Go(func() { s.Watch(ctx, func() { s.Len() }) })
	readers.Go(func() {
		for ctx.Err() == nil {
			stamps := map[string]int{}
			for r, err := range s.Resources(t.Context(), resourcesync.Range{To: "x"}) {
				if err != nil {
					t.Error(err)
					return
				}
				stamps[r.Stamp]++
			}
			if len(stamps) != 1 {
				t.Errorf("a read saw parts of writes: %v", stamps)
				return
			}
		}
	})
	readers.Go(func() {
		var cuts []resourcesync.Cut
		for ctx.Err() == nil {
			var err error
			if cuts, err = s.Cuts(t.Context(), cuts, 7); err != nil {
				t.Error(err)
				return
			}
			s.Stat(t.Context(), resourcesync.Range{From: "1"})
			s.Windows(t.Context(), 1000)
			s.Covers(&url.URL{Path: "/001"})
			if r := known(t, s, "001"); !strings.HasPrefix(r.Stamp, "/") {
				t.Errorf("Known: %+v", r)
				return
			}
		}
	})
	writers.Go(func() {
		for n := range rounds {
			put(t, s, version(n)...)
		}
	})
	writers.Go(func() {
		for range rounds {
			put(t, s, resource("y", ""), resource("z", ""))
			if err := s.Delete(ctx, "y", "z"); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	stop()
	readers.Wait()
}

// TestConcurrentScan scans while others write and read.
func TestConcurrentScan(t *testing.T) {
	s := New(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 10 {
			_, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
				for i := range 200 {
					if !yield(resource(fmt.Sprintf("%03d", i), fmt.Sprint("/", n)), nil) {
						return
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range 1000 {
			put(t, s, resource(fmt.Sprintf("%03d", i%100), "put"))
		}
	})
	wg.Go(func() {
		for range 100 {
			for _, err := range s.Resources(t.Context(), resourcesync.Range{}) {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	if s.Len() != 200 {
		t.Errorf("%d resources", s.Len())
	}
}
