package scan

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// firstRetry is the delay after a failed scan. It doubles with each further failure.
	firstRetry = 5 * time.Second

	// turnRetry is the delay after a scan that was refused because another process scans
	// the set.
	turnRetry = time.Second

	// partRetry is the same for a scan of a part, which is short. It doubles with each
	// further refusal, up to turnRetry.
	partRetry = 100 * time.Millisecond

	// restRatio is the shortest pause before a complete scan that a change triggers, in
	// durations of the scan before it: a large folder that changes all the time keeps the
	// scanner busy for a fifth of the time.
	restRatio = 4

	// releasePoll is the interval at which a set that holds deletions checks whether they
	// may be published.
	releasePoll = 2 * time.Second
)

// Run keeps the set in step with the origin until ctx ends, and then returns nil. It fails if
// it is running already.
func (s *Set) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("scan: Run is already running")
	}
	defer s.running.Store(false)
	if s.keepIdentity(ctx); ctx.Err() != nil {
		return nil
	}
	_ = s.show(ctx) // or a scan reports why it cannot
	g, ctx := errgroup.WithContext(ctx)
	if r, ok := s.origin.(Runner); ok {
		g.Go(func() error { return r.Run(ctx) })
	}
	g.Go(func() error { s.watch(ctx); return nil })
	g.Go(func() error { s.awaitRelease(ctx); return nil })
	g.Go(func() error { s.awaitRestart(ctx); return nil })
	g.Go(func() error { s.scanAll(ctx); return nil })
	return g.Wait()
}

// awaitRestart has everything scanned when the stored set may have lost what was scanned before.
func (s *Set) awaitRestart(ctx context.Context) {
	r, ok := s.stored.(Restarter)
	if !ok {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.Restarted():
			s.Scan()
		}
	}
}

// scanAll scans until ctx is done.
func (s *Set) scanAll(ctx context.Context) {
	if s.partly() {
		s.pause(ctx, 0, s.options.Every, s.woken) // the first scan begins to watch what it scans
	}
	retry := firstRetry
	for ctx.Err() == nil {
		select {
		case <-s.woken: // the scan that begins now finds the change
		default:
		}
		began, before := time.Now(), s.scanError()
		_, err := s.scan(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if before != nil {
				s.log.Info("scan succeeded")
			}
			retry = firstRetry
			s.pause(ctx, restRatio*time.Since(began), s.options.Every, s.woken)
		case errors.Is(err, resourcesync.ErrScanning):
			// The other scan may miss the change, or fail.
			s.pause(ctx, turnRetry, turnRetry, nil)
		default:
			retry = min(retry, s.options.Every)
			if before == nil || before.Error() != err.Error() { // a repeated failure is one line
				message := "scan failed; no deletions are recorded"
				if errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "make room") {
					message += "; make room on the disk"
				}
				s.log.Error(message, "error", err, "next_in", retry)
			}
			s.pause(ctx, retry, retry, s.woken)
			retry *= 2
		}
	}
}

// partly reports whether the origin notices which parts have changed.
func (s *Set) partly() bool {
	_, parter := s.origin.(Parter)
	_, watcher := s.origin.(Watcher)
	return parter && watcher
}

// watch scans the part that has changed at each change, or has everything scanned, until ctx
// is done.
func (s *Set) watch(ctx context.Context) {
	w, ok := s.origin.(Watcher)
	if !ok {
		return
	}
	parter, _ := s.origin.(Parter)
	err := background.Safely(func() error {
		return w.Watch(ctx, func(paths []string) {
			if paths == nil || parter == nil || !s.scanPart(ctx, parter, paths) {
				s.Scan()
			}
		})
	})
	if ctx.Err() == nil {
		s.log.Warn("changes are not noticed at once, only by scans", "error", err, "rescan", s.options.Every)
		if s.partly() {
			s.Scan() // the first scan waits no longer
		}
	}
}

// scanPart scans the changed resources. It reports false if a complete scan is needed.
func (s *Set) scanPart(ctx context.Context, parter Parter, paths []string) (done bool) {
	for retry := partRetry; ctx.Err() == nil; {
		work, end := s.trace(ctx)
		ranges, resources := parter.Part(work, paths)
		result, err := s.stored.ScanRanges(work, ranges, resources)
		end(err)
		switch {
		case errors.Is(err, resourcesync.ErrScanning):
			s.pause(ctx, retry, retry, nil)
			retry = min(2*retry, turnRetry)
			continue
		case errors.Is(err, resourcesync.ErrNotReady): // the first scan may have passed this part
			s.pause(ctx, turnRetry, turnRetry, nil)
			continue
		}
		return s.tookPart(result, err) && err == nil
	}
	return true
}

// tookPart notes the result of the scan of a part. It reports false if a complete scan is
// needed, because only that can tell how much is held or unreadable in all.
func (s *Set) tookPart(result resourcesync.ScanResult, err error) (done bool) {
	s.logChanges(result)
	s.addPart(result)
	s.note(Result{ScanResult: result, Part: true, Ended: time.Now(), Err: err})
	last := s.last.Load()
	return !keepsSome(result) && (last == nil || !keepsSome(last.ScanResult))
}

// addPart adds the changes that a partial scan has found to the result of the last complete
// scan.
func (s *Set) addPart(part resourcesync.ScanResult) {
	for {
		last := s.last.Load()
		if last == nil {
			return
		}
		sum := *last
		sum.Created += part.Created
		sum.Updated += part.Updated
		sum.Deleted += part.Deleted
		if s.last.CompareAndSwap(last, &sum) {
			return
		}
	}
}

// keepsSome reports whether a scan has kept missing resources.
func keepsSome(r resourcesync.ScanResult) bool { return r.Held+r.Unreadable > 0 }

// bound is the stored set that an origin gets. The Set logs and observes its partial scans.
type bound struct {
	Stored
	set *Set
}

// StatParts implements [resourcesync.PartStater].
func (b bound) StatParts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	return statParts(ctx, b.Stored, r)
}

// ScanRanges implements [Stored].
func (b bound) ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources listing) (resourcesync.ScanResult, error) {
	result, err := b.Stored.ScanRanges(ctx, ranges, resources)
	refused := errors.Is(err, resourcesync.ErrScanning) || errors.Is(err, resourcesync.ErrNotReady)
	if !refused && !b.set.filling.Load() && !b.set.tookPart(result, err) {
		b.set.Scan()
	}
	return result, err
}

// pause waits for the duration least, and then for a signal, but no longer than most in all,
// and not after ctx is done.
func (s *Set) pause(ctx context.Context, least, most time.Duration, woken <-chan struct{}) {
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
