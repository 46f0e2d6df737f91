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
	"github.com/resourcesync-go/resourcesync/adapters/prometheus"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// firstRetry is the delay after a failed scan. It doubles with each further
	// failure.
	firstRetry = 5 * time.Second

	// turnRetry is the delay after a scan that was refused because another process
	// scans the set.
	turnRetry = time.Second

	// partRetry is the same for a scan of a part, which is short. It doubles with each
	// further refusal, up to turnRetry.
	partRetry = 100 * time.Millisecond

	// restRatio is the minimum pause before a complete scan that a change triggers,
	// in durations of the scan before it: a large folder that changes all the time
	// keeps the scanner busy for a fifth of the time.
	restRatio = 4
)

// A listing is a sequence of resources and errors, as scans take it.
type listing = iter.Seq2[resourcesync.Resource, error]

// A scanSet is the set that a scanner fills. Its methods return
// resourcesync.ErrScanning while another process scans the set.
type scanSet interface {
	Scan(ctx context.Context, resources listing) (resourcesync.ScanResult, error)
	ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources listing) (resourcesync.ScanResult, error)
}

// A scanner keeps a set in sync with a folder or website: it scans all of it at an
// interval, and soon after a change is noticed scans the part that has changed, or all
// of it if that part is not known.
type scanner struct {
	set    scanSet
	name   string // of the set, for metrics
	list   func(context.Context) listing
	part   func(ctx context.Context, paths []string) ([]resourcesync.Range, listing) // nil if parts are never known
	watch  func(ctx context.Context, changed func(paths []string)) error             // calls changed(nil) first if there are parts
	rescan time.Duration                                                             // the longest interval between complete scans
	log    *slog.Logger

	// scanned returns when a complete scan last succeeded, in any process; the next is due
	// rescan later. If it is nil, or there was none, a scan is due at once.
	scanned func(context.Context) (time.Time, error)

	// count returns the number of files in the set, and ErrNotReady if the set must
	// not be shown before a scan.
	count func(context.Context) (int64, error)

	// kept returns the missing files that stay listed after the last scan.
	kept func(context.Context) (sqlstore.Kept, error)

	// ready is called once, with the number of files, as soon as the set can be
	// shown.
	ready func(files int64)

	metrics *prometheus.Metrics // nil if nobody reads them

	isReady  bool
	complete bool         // a complete scan of this process has ended without an error
	skipped  atomic.Int64 // files, by the running or else the last scan
	last     atomic.Pointer[scanned]
}

// A scanned is the result of the last complete scan of this process, with the changes
// that scans of parts have found since.
type scanned struct {
	ended  time.Time
	took   time.Duration
	result resourcesync.ScanResult
	skip   int64 // files that are not listed, or not updated
	err    error
}

// run scans until ctx is done.
func (s *scanner) run(ctx context.Context) {
	woken := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.wait(ctx, woken) })
	wg.Go(func() { s.awaitRelease(ctx, woken) })
	if s.part != nil {
		pause(ctx, 0, s.rescan, woken) // the first scan begins to watch what it scans
	}
	if s.scanned != nil {
		s.awaitDue(ctx, woken)
	}
	retry := firstRetry
	for {
		select {
		case <-woken: // the scan that begins now finds the change
		default:
		}
		started, before := time.Now(), s.health()
		err := s.scan(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if before != nil {
				s.log.Info("scan succeeded")
			}
			retry = firstRetry
			pause(ctx, restRatio*time.Since(started), s.rescan, woken)
		case errors.Is(err, resourcesync.ErrScanning):
			// The other scan may miss the change, or fail.
			pause(ctx, turnRetry, turnRetry, nil)
		default:
			retry = min(retry, s.rescan)
			// The same failure, time and again, is one line.
			if before == nil || before.Error() != err.Error() {
				message := "scan failed; no deletions are recorded"
				if isFull(err) {
					message += "; make room on the disk"
				}
				s.log.Error(message, "error", err, "next_in", retry)
			}
			pause(ctx, retry, retry, woken)
			retry *= 2
		}
	}
}

// awaitDue shows the set if it can be shown, and returns when a complete scan is due.
func (s *scanner) awaitDue(ctx context.Context, woken <-chan struct{}) {
	if s.checkReady(ctx) != nil {
		return // a scan reports why
	}
	last, err := s.scanned(ctx)
	if due := time.Until(last.Add(s.rescan)); err == nil && due > 0 {
		pause(ctx, 0, due, woken)
	}
}

// health returns the error of the last scan, or nil.
func (s *scanner) health() error {
	if last := s.last.Load(); last != nil {
		return last.err
	}
	return nil
}

// scan scans once and keeps the result, unless another process scans the set.
func (s *scanner) scan(ctx context.Context) error {
	started := time.Now()
	result, err := s.fill(ctx)
	if ctx.Err() == nil && !errors.Is(err, resourcesync.ErrScanning) {
		took := time.Since(started)
		s.last.Store(&scanned{time.Now(), took, result, s.skipped.Load(), err})
		if s.metrics != nil {
			s.metrics.Scanned(s.name, took, result, err)
		}
	}
	if err != nil {
		return err
	}
	// Who reads the status when the set is ready finds this scan in it.
	if err = s.checkReady(ctx); err != nil && ctx.Err() == nil {
		failed := *s.last.Load()
		failed.err = err
		s.last.Store(&failed)
	}
	return err
}

func (s *scanner) fill(ctx context.Context) (resourcesync.ScanResult, error) {
	if err := s.checkReady(ctx); err != nil && !errors.Is(err, resourcesync.ErrNotReady) {
		return resourcesync.ScanResult{}, err
	}
	before := s.isReady
	result, err := s.set.Scan(ctx, s.list(ctx))
	if err != nil {
		return result, err
	}
	s.complete = true
	s.logKept(ctx, result)
	if before {
		s.logChanges(result)
	}
	return result, nil
}

// checkReady calls ready if the set can be shown and ready has not been called. An
// earlier start, this scan or another process may have completed the set.
func (s *scanner) checkReady(ctx context.Context) error {
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

// wait scans the part that has changed at each change, or signals woken for a complete
// scan, until ctx is done.
func (s *scanner) wait(ctx context.Context, woken chan<- struct{}) {
	err := s.watch(ctx, func(paths []string) {
		if paths == nil || !s.scanPart(ctx, paths) {
			background.Signal(woken)
		}
	})
	if ctx.Err() == nil {
		s.log.Warn("changes are not noticed at once, only by scans", "error", err, "rescan", s.rescan)
		if s.part != nil {
			background.Signal(woken) // the first scan waits no longer
		}
	}
}

// scanPart scans the changed files. It reports false if a complete scan is needed.
func (s *scanner) scanPart(ctx context.Context, paths []string) (done bool) {
	for retry := partRetry; ctx.Err() == nil; {
		ranges, resources := s.part(ctx, paths)
		result, err := s.set.ScanRanges(ctx, ranges, resources)
		switch {
		case errors.Is(err, resourcesync.ErrScanning):
			pause(ctx, retry, retry, nil)
			retry = min(2*retry, turnRetry)
			continue
		case errors.Is(err, resourcesync.ErrNotReady): // the first scan may have passed this part
			pause(ctx, turnRetry, turnRetry, nil)
			continue
		}
		return s.tookPart(result) && err == nil
	}
	return true
}

// tookPart notes the result of the scan of a part. It reports false if a complete scan is
// needed, because only that can tell how much is held or unreadable in all.
func (s *scanner) tookPart(result resourcesync.ScanResult) (done bool) {
	s.logChanges(result)
	s.addPart(result)
	if s.metrics != nil {
		s.metrics.ScannedPart(s.name, result)
	}
	last := s.last.Load()
	return !keepsSome(result) && (last == nil || !keepsSome(last.result))
}

// addPart adds the changes that the scan of a part has found to those of the complete
// scan before.
func (s *scanner) addPart(part resourcesync.ScanResult) {
	for {
		last := s.last.Load()
		if last == nil {
			return
		}
		sum := *last
		sum.result.Created += part.Created
		sum.result.Updated += part.Updated
		sum.result.Deleted += part.Deleted
		if s.last.CompareAndSwap(last, &sum) {
			return
		}
	}
}

// keepsSome reports whether a scan has kept missing files.
func keepsSome(r resourcesync.ScanResult) bool { return r.Held+r.Unreadable > 0 }

func (s *scanner) logChanges(r resourcesync.ScanResult) {
	if r.Created+r.Updated+r.Deleted > 0 {
		s.log.Info("changes found", "created", r.Created, "updated", r.Updated, "deleted", r.Deleted)
	}
}

// pause waits for the duration least, and then for a signal, but no longer than most in
// all, and not after ctx is done.
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
