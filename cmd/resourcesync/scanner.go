package main

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

const (
	// firstRetry is how long after a failed scan the next one begins. The
	// time doubles with each that fails after it.
	firstRetry = 5 * time.Second

	// restRatio is how many times as long as it took a scan is followed by
	// none that a change calls for: a folder that is large and changes all the
	// time keeps the scanner busy for a fifth of the time, and not always.
	restRatio = 4
)

// A scanner makes a set what a folder is, again and again: from time to time,
// and soon after it is told of a change.
type scanner struct {
	set    *memory.Set
	list   func(context.Context) iter.Seq2[resourcesync.Resource, error]
	watch  func(ctx context.Context, wake func()) error
	rescan time.Duration // between scans that nothing has called for
	ready  func()        // called when the first scan is complete
	log    *slog.Logger

	complete bool // a scan has been
}

// run scans until ctx is done.
func (s *scanner) run(ctx context.Context) {
	woken := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.wait(ctx, woken) })
	retry := firstRetry
	for {
		select {
		case <-woken: // the scan that begins now finds what it was for
		default:
		}
		started := time.Now()
		err := s.scan(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			retry = firstRetry
			pause(ctx, restRatio*time.Since(started), s.rescan, woken)
			continue
		}
		retry = min(retry, s.rescan)
		s.log.Error("scan failed; nothing is taken for deleted", "error", err, "next_in", retry)
		pause(ctx, retry, retry, woken)
		retry *= 2
	}
}

func (s *scanner) scan(ctx context.Context) error {
	result, err := s.set.Scan(ctx, s.list(ctx))
	if err != nil {
		return err
	}
	if !s.complete {
		s.complete = true
		s.ready()
		return nil
	}
	if result.Created+result.Updated+result.Deleted > 0 {
		s.log.Info("changes found", "created", result.Created, "updated", result.Updated, "deleted", result.Deleted)
	}
	return nil
}

// wait has woken hold a token whenever there is a reason to scan.
func (s *scanner) wait(ctx context.Context, woken chan<- struct{}) {
	err := s.watch(ctx, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	if ctx.Err() == nil {
		s.log.Warn("changes are not noticed at once; the next scan finds them", "error", err, "rescan", s.rescan)
	}
}

// pause waits for as long as least, and then for a token in woken, but no longer
// than most in all, nor beyond the end of ctx.
func pause(ctx context.Context, least, most time.Duration, woken <-chan struct{}) {
	end := time.After(most)
	select {
	case <-time.After(least):
	case <-end:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-woken:
	case <-end:
	case <-ctx.Done():
	}
}
