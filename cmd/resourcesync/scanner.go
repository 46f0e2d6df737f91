package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// firstRetry is how long after a failed scan the next one begins. The
	// time doubles with each that fails after it.
	firstRetry = 5 * time.Second

	// turnRetry is how long after one was refused, because somebody else's
	// was under way, a scan is tried again.
	turnRetry = time.Second

	// restRatio is how many times as long as it took a scan is followed by
	// none that a change calls for: a folder that is large and changes all the
	// time keeps the scanner busy for a fifth of the time, and not always.
	restRatio = 4
)

// A scanSet is the set that a scanner fills. Its Scan is refused with
// resourcesync.ErrScanning while somebody else scans the same set.
type scanSet interface {
	Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error)
}

// A scanner makes a set what a folder is, again and again: from time to time,
// and soon after it is told of a change.
type scanner struct {
	set    scanSet
	list   func(context.Context) iter.Seq2[resourcesync.Resource, error]
	watch  func(ctx context.Context, wake func()) error
	rescan time.Duration // between scans that nothing has called for
	log    *slog.Logger

	// count returns the number of files in the set, and ErrNotReady if it
	// is not fit to be shown before a scan.
	count func(context.Context) (int64, error)

	// kept returns the missing files that the last scan has kept.
	kept func(context.Context) (sqlstore.Kept, error)

	// ready is called once, with the number of files, as soon as the set is
	// fit to be shown.
	ready func(files int64)

	isReady  bool
	complete bool         // a scan has been
	skipped  atomic.Int64 // files, by the scan that is under way or was last
	last     atomic.Pointer[scanned]
}

// A scanned is what came of the last scan of this process.
type scanned struct {
	ended  time.Time
	took   time.Duration
	result resourcesync.ScanResult
	skip   int64 // files that are not listed, or stay as they were
	err    error
}

// run scans until ctx is done.
func (s *scanner) run(ctx context.Context) {
	woken := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.wait(ctx, woken) })
	wg.Go(func() { s.awaitRelease(ctx, woken) })
	retry := firstRetry
	for {
		select {
		case <-woken: // the scan that begins now finds what it was for
		default:
		}
		started := time.Now()
		err := s.scan(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			retry = firstRetry
			pause(ctx, restRatio*time.Since(started), s.rescan, woken)
		case errors.Is(err, resourcesync.ErrScanning):
			// Whether that scan sees what this one is for, or comes to
			// its end, is not known.
			pause(ctx, turnRetry, turnRetry, nil)
		default:
			retry = min(retry, s.rescan)
			s.log.Error("scan failed; nothing is taken for deleted", "error", err, "next_in", retry)
			pause(ctx, retry, retry, woken)
			retry *= 2
		}
	}
}

// health returns why the last scan has failed, or nil.
func (s *scanner) health() error {
	if last := s.last.Load(); last != nil {
		return last.err
	}
	return nil
}

// scan makes the set what the folder is, and notes what came of it unless that
// was left to somebody else.
func (s *scanner) scan(ctx context.Context) error {
	started := time.Now()
	result, err := s.fill(ctx)
	if ctx.Err() == nil && !errors.Is(err, resourcesync.ErrScanning) {
		s.last.Store(&scanned{time.Now(), time.Since(started), result, s.skipped.Load(), err})
	}
	return err
}

func (s *scanner) fill(ctx context.Context) (resourcesync.ScanResult, error) {
	if err := s.tellReady(ctx); err != nil && !errors.Is(err, resourcesync.ErrNotReady) {
		return resourcesync.ScanResult{}, err
	}
	before := s.isReady
	result, err := s.set.Scan(ctx, s.list(ctx))
	if err != nil {
		return result, err
	}
	s.complete = true
	s.tellKept(ctx, result)
	if !before {
		return result, s.tellReady(ctx)
	}
	if result.Created+result.Updated+result.Deleted > 0 {
		s.log.Info("changes found", "created", result.Created, "updated", result.Updated, "deleted", result.Deleted)
	}
	return result, nil
}

// tellReady tells that the set is fit to be shown, if it is and has not been told
// of: from an earlier start, by this scan, or by that of somebody else.
func (s *scanner) tellReady(ctx context.Context) error {
	if s.isReady {
		return nil
	}
	files, err := s.count(ctx)
	if err != nil {
		return err
	}
	s.isReady = true
	s.ready(files)
	return nil
}

// wait has woken hold a token whenever there is a reason to scan.
func (s *scanner) wait(ctx context.Context, woken chan<- struct{}) {
	err := s.watch(ctx, func() { wake(woken) })
	if ctx.Err() == nil {
		s.log.Warn("changes are not noticed at once; the next scan finds them", "error", err, "rescan", s.rescan)
	}
}

// wake puts a token into woken unless there is one.
func wake(woken chan<- struct{}) {
	background.Signal(woken)
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
