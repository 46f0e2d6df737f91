package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// Options are the optional arguments of [Into]. The zero value is valid.
type Options struct {
	// Every is the longest interval between complete scans. If zero, five minutes is used.
	Every time.Duration

	// MaxDelete and MaxDeleteHold limit the deletions of a scan; see [SetOptions].
	MaxDelete     float64
	MaxDeleteHold time.Duration

	// Moved accepts an origin whose [Identity] differs from the recorded one, because
	// the same resources have moved to another place.
	Moved bool

	// Shared neither records nor compares the Name of the [Identity] of the origin: processes
	// on several computers fill the set, and know the origin by different names.
	Shared bool

	// NoDumps hides that the origin can open the content of its resources, so that there are
	// no dumps.
	NoDumps bool

	// Observe is called after each scan of this process. It must not block.
	Observe func(Result)

	// Tracer records a span named "resourcesync.scan" for each scan, if it is not nil.
	Tracer resourcesync.Tracer

	// Progress is called about four times a second during the first complete scan of this
	// process, and at its end. It must not block.
	Progress func(FirstScan)

	// Question is a sentence that asks about the origin when deletions are held, in
	// [Set.Health]. If empty, it is "Does the origin have all of its resources?".
	Question string

	// Confirm says how an operator confirms held deletions, in logs and in [Set.Health]. If
	// empty, it is "scan.Set.ConfirmDeletions".
	Confirm string

	// Logger receives failures and changes. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Set is a stored set that is kept in step with an [Origin]. It is a
// [resourcesync.Provider] with all upgrades of both, and is not ready while the stored
// resources must not be shown. rshttp.Source.Run calls Run, and rshttp.Source.Health calls
// Health. All methods are safe for concurrent use.
type Set struct {
	*View
	origin   Origin
	options  Options
	log      *slog.Logger
	name     string
	identity *Identity // to be recorded; nil if it is not

	running    atomic.Bool
	woken      chan struct{}              // requests a complete scan
	turn       sync.Mutex                 // of complete scans in this process
	complete   atomic.Bool                // a complete scan of this process has ended without an error
	filling    atomic.Bool                // a Fill runs
	counted    counted                    // the listing of an Origin that is not a Progresser
	parts      parts                      // of the scan that has the turn
	unreadable atomic.Pointer[unreadable] // since the last complete scan; nil if it could read all
	last       atomic.Pointer[Result]
	unrecorded atomic.Pointer[error] // why the identity is not recorded
}

// A Result describes a scan.
type Result struct {
	resourcesync.ScanResult

	// Part reports whether only a part was scanned.
	Part bool

	Ended   time.Time
	Took    time.Duration
	Skipped int64 // resources of the origin that are not listed, or not updated
	Err     error

	// If this and perhaps earlier complete scans have failed in a row, FailingSince is the time
	// at which the first of them ended. It is zero if Err is nil.
	FailingSince time.Time
}

// fail sets the error of the scan r. before is the result of the previous scan, or nil.
func (r *Result) fail(err error, before *Result) {
	r.Err, r.FailingSince = err, time.Time{}
	switch {
	case err == nil:
	case before != nil && before.Err != nil:
		r.FailingSince = before.FailingSince
	default:
		r.FailingSince = r.Ended
	}
}

// Into returns the set of a store that origin fills, and creates it if there is none. Nothing
// is scanned before [Set.Run]. If the set has the resources of another origin, the error is an
// [*OriginError]. Into refuses a store whose file is in the folder that is published
// ([Container]). o may be nil.
func Into[S Stored](ctx context.Context, store Store[S], name string, origin Origin, o *Options) (*Set, error) {
	s := &Set{name: name, origin: origin, woken: make(chan struct{}, 1)}
	if o != nil {
		s.options = *o
	}
	if s.options.Every < 0 {
		return nil, fmt.Errorf("scan: Every %v is negative", s.options.Every)
	}
	s.options.Every = cmp.Or(s.options.Every, 5*time.Minute)
	s.options.Question = cmp.Or(s.options.Question, "Does the origin have all of its resources?")
	s.options.Confirm = cmp.Or(s.options.Confirm, "scan.Set.ConfirmDeletions")
	s.log = cmp.Or(s.options.Logger, slog.Default())
	if err := checkFile(store, origin); err != nil {
		return nil, err
	}
	stored, err := store.Set(ctx, name, &SetOptions{AwaitScan: true, MaxDelete: s.options.MaxDelete, MaxDeleteHold: s.options.MaxDeleteHold})
	if err != nil {
		return nil, err
	}
	s.View = &View{stored: stored}
	if !s.options.NoDumps {
		s.View.upgrades = []any{origin}
	}
	s.View.hider, _ = origin.(Hider)
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	s.showKnown(ctx)
	if b, ok := origin.(Binder); ok {
		open := func(ctx context.Context, purpose string) (Stored, error) {
			return store.Set(ctx, purpose+" "+name, nil)
		}
		if err := b.Bind(ctx, bound{stored, s}, open); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Scan starts a complete scan of the origin soon.
func (s *Set) Scan() { background.Signal(s.woken) }

// Last returns the result of the last complete scan of this process. Its numbers of changes
// include those that scans of parts have found since. It is nil before the first.
func (s *Set) Last() *Result { return s.last.Load() }

// Update scans all of the origin once: for a program that does not call [Set.Run]. If another
// process scans the set, the error is [resourcesync.ErrScanning].
func (s *Set) Update(ctx context.Context) (resourcesync.ScanResult, error) {
	if err := s.record(ctx); err != nil {
		return resourcesync.ScanResult{}, fmt.Errorf("scan: the origin of the set cannot be recorded: %w", err)
	}
	return s.scan(ctx)
}

// Kept describes the missing resources that the last scan, by any process, has kept.
func (s *Set) Kept(ctx context.Context) (Kept, error) { return s.stored.Kept(ctx) }

// ConfirmDeletions has the held deletions published, and returns their number.
func (s *Set) ConfirmDeletions(ctx context.Context) (held int64, err error) {
	held, err = s.stored.ConfirmDeletions(ctx)
	if held > 0 {
		s.Scan()
	}
	return held, err
}

// scan scans once and keeps the result, unless another process scans the set.
func (s *Set) scan(ctx context.Context) (resourcesync.ScanResult, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	began, before := time.Now(), s.last.Load()
	work, end := s.trace(ctx)
	result, err := s.fill(work)
	end(err)
	if ctx.Err() == nil && !errors.Is(err, resourcesync.ErrScanning) {
		r := Result{ScanResult: result, Ended: time.Now(), Took: time.Since(began), Skipped: s.progress().Skipped}
		r.fail(err, before)
		s.note(r)
	}
	if err != nil {
		return result, err
	}
	// The scan is noted before the set is shown, so a reader who sees the set sees it, too.
	if err = s.show(ctx); err != nil && ctx.Err() == nil {
		failed := *s.last.Load()
		failed.fail(err, before)
		s.last.Store(&failed)
	}
	return result, err
}

// trace begins the span of a scan.
func (s *Set) trace(ctx context.Context) (work context.Context, end func(error)) {
	if s.options.Tracer == nil {
		return ctx, func(error) {}
	}
	return s.options.Tracer.Start(ctx, "resourcesync.scan", slog.String("set", s.name))
}

func (s *Set) note(r Result) {
	if !r.Part {
		if o, ok := s.origin.(Observer); ok {
			o.Scanned(r)
		}
		s.last.Store(&r)
	}
	if s.options.Observe != nil {
		s.options.Observe(r)
	}
}

func (s *Set) fill(ctx context.Context) (result resourcesync.ScanResult, err error) {
	if err := s.show(ctx); err != nil && !errors.Is(err, resourcesync.ErrNotReady) {
		return result, err
	}
	before := s.isShown()
	if !s.complete.Load() {
		defer s.reportFirst(ctx)()
	}
	excluded, err := s.deleteExcluded(ctx)
	if err != nil {
		return result, err
	}
	if f, ok := s.origin.(Filler); ok {
		s.filling.Store(true)
		result, err = f.Fill(ctx)
		s.filling.Store(false)
	} else {
		result, err = s.stored.Scan(ctx, s.parts.collect(s.counted.count(s.origin.Resources(ctx))))
	}
	result.Deleted += excluded
	if err != nil {
		return result, err
	}
	s.complete.Store(true)
	s.logKept(ctx, result)
	s.noteUnreadable(ctx, result)
	if before {
		s.logChanges(result)
	}
	return result, nil
}

func (s *Set) logChanges(r resourcesync.ScanResult) {
	if r.Created+r.Updated+r.Deleted > 0 {
		s.log.Info("changes found", "created", r.Created, "updated", r.Updated, "deleted", r.Deleted)
	}
}

// showKnown shows the stored resources if an earlier scan has completed them, with the URIs
// that they have now.
func (s *Set) showKnown(ctx context.Context) {
	if s.identity != nil {
		recorded, err := Recorded(ctx, s.stored)
		if err != nil || recorded.URIs != s.identity.URIs || s.names() && recorded.Name != s.identity.Name {
			return // Run shows them, or reports why it cannot
		}
	}
	if _, err := s.stored.Stat(ctx, resourcesync.Range{}); err == nil {
		s.View.show()
	}
}

// show shows the stored resources if they can be shown. An earlier start, this scan or
// another process may have completed them.
func (s *Set) show(ctx context.Context) error {
	if s.shown.Load() {
		return nil
	}
	_, err := s.stored.Stat(ctx, resourcesync.Range{})
	if err == nil {
		err = s.checkURIs(ctx)
	}
	if err == nil {
		s.View.show()
	}
	return err
}
