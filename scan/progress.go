package scan

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

type listing = iter.Seq2[resourcesync.Resource, error]

// progressEvery is the interval of reports on the first scan.
const progressEvery = 250 * time.Millisecond

// FirstScan describes the first complete scan of a process while it runs.
type FirstScan struct {
	Progress
	Began time.Time
	Of    *Progress // an estimate of the whole; nil if unknown
	Ended bool      // this is the last report
}

// reportFirst reports on the first scan until the returned function is called.
func (s *Set) reportFirst(ctx context.Context) (end func()) {
	report := s.options.Progress
	if report == nil {
		return func() {}
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	var of atomic.Pointer[Progress]
	var working sync.WaitGroup
	working.Go(func() {
		// Without an estimate, the scan is reported without one, and may fail with the same error.
		if resources, bytes, err := s.estimate(ctx); err == nil {
			of.Store(&Progress{Resources: resources, Bytes: bytes})
		}
	})
	working.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				report(FirstScan{s.progress(), began, of.Load(), false})
			}
		}
	})
	return func() {
		cancel()
		working.Wait()
		report(FirstScan{s.progress(), began, of.Load(), true})
	}
}

// estimate estimates what the first scan lists: from the set if an earlier one has filled it.
func (s *Set) estimate(ctx context.Context) (resources, bytes int64, err error) {
	if e, ok := s.origin.(Estimator); ok && !s.isShown() {
		return e.Estimate(ctx)
	}
	st, err := s.stored.Stat(ctx, resourcesync.Range{})
	return st.Count, 0, err
}

// progress returns the progress of the complete scan that runs, or else of the last one.
func (s *Set) progress() Progress {
	if p, ok := s.origin.(Progresser); ok {
		return p.Progress()
	}
	return Progress{Resources: s.counted.Load()}
}

// counted counts the resources of a listing.
type counted struct{ atomic.Int64 }

func (c *counted) count(resources listing) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		c.Store(0)
		resources(func(r resourcesync.Resource, err error) bool {
			c.Add(1)
			return yield(r, err)
		})
	}
}
