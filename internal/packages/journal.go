package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"golang.org/x/sync/semaphore"
)

// pollInterval is the maximum time between two checks of a journal.
const pollInterval = time.Minute

// errMoved means that the journal has dropped changes while it was read.
var errMoved = fmt.Errorf("%w: the journal has dropped changes meanwhile", resourcesync.ErrNotReady)

// A Journal divides the journal of a set into the packages of its Change Dump. Its
// fields are set before its first use, and its methods are safe for concurrent use.
type Journal struct {
	// Set is the name of the set, for logs.
	Set string

	// Changer is the journal. Stater, which may be nil, returns its version. Since
	// returns the time after which both changes and their bitstreams are complete.
	Changer resourcesync.Changer
	Stater  resourcesync.Stater
	Since   func(context.Context) (time.Time, error)

	// Patches states that packages contain patches.
	Patches bool

	// A package is full when it has Size bytes or MaxEntries changes. It is closed at
	// multiples of Every. If Changer is not a Windower, changes may be committed Settle after
	// their datetimes.
	Size       Size
	MaxEntries int
	Every      time.Duration
	Settle     time.Duration

	once    sync.Once
	lock    *semaphore.Weighted // held while the journal is read; a request can stop waiting for it
	current atomic.Pointer[ChangeDump]
	lengths sync.Map // of packages, by interval
}

// Dump divides the journal. It reads the changes since the last call.
func (j *Journal) Dump(ctx context.Context) (*ChangeDump, error) {
	j.once.Do(func() { j.lock = semaphore.NewWeighted(1) })
	if err := j.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer j.lock.Release(1)
	now, err := j.divide(ctx, j.current.Load())
	if errors.Is(err, errMoved) {
		now, err = j.divide(ctx, j.current.Load())
	}
	if err == nil {
		j.current.Store(now)
		j.forgetLengths(now.Packages)
	}
	return now, err
}

// Current returns the result of the last Dump, or nil.
func (j *Journal) Current() *ChangeDump { return j.current.Load() }

func (j *Journal) divide(ctx context.Context, before *ChangeDump) (*ChangeDump, error) {
	since, err := j.Since(ctx)
	if err != nil {
		return nil, err
	}
	now := &ChangeDump{Since: since}
	if before != nil {
		if first, found := partition.Find(before.Packages, since); found {
			now.Packages = slices.Clip(before.Packages[first:])
		}
	}
	// Read the version first, so that a change in between makes it out of date.
	if j.Stater != nil {
		stat, err := j.Stater.Stat(ctx, partition.Whole)
		if err != nil {
			return nil, err
		}
		now.version = stat.Version
	}
	from := since
	if n := len(now.Packages); n > 0 {
		from = now.Packages[n-1].Until
	}
	var seals []time.Time
	if sealer, ok := j.Changer.(resourcesync.Sealer); ok {
		if seals, err = sealer.Seals(ctx, from); err != nil {
			return nil, err
		}
	}
	if before != nil && now.version != "" && now.version == before.version && since.Equal(before.Since) && len(seals) == 0 {
		return before, nil
	}
	d := divider{Journal: j, part: resourcesync.Interval{From: from}, seals: seals}
	omitted := func(c *resourcesync.Change, _ error) { d.add(c) } // it still ends a package
	for c, err := range checked.Changes(ctx, j.Changer, resourcesync.Interval{From: from}, omitted) {
		if err != nil {
			return nil, err
		}
		d.add(&c)
	}
	d.seal()
	if again, err := j.Since(ctx); err != nil || !again.Equal(since) {
		return nil, cmp.Or(err, errMoved)
	}
	now.Packages = append(now.Packages, d.settled()...)
	if d.count > 0 {
		now.end, now.newest = d.end, d.last
	}
	return now, nil
}

// Length returns the length of a package. It calls measure if the length is not known
// yet, and remembers the result.
func (j *Journal) Length(p resourcesync.Interval, measure func() (resourcesync.Length, error)) (resourcesync.Length, error) {
	if length, ok := j.lengths.Load(p); ok {
		return length.(resourcesync.Length), nil
	}
	length, err := measure()
	if err == nil {
		j.lengths.Store(p, length)
	}
	return length, err
}

// forgetLengths forgets the lengths of packages that begin before the first of these.
func (j *Journal) forgetLengths(packages []resourcesync.Interval) {
	j.lengths.Range(func(key, _ any) bool {
		if p := key.(resourcesync.Interval); len(packages) == 0 || p.From.Before(packages[0].From) {
			j.lengths.Delete(key)
		}
		return true
	})
}

// Seal seals the last package if its time is over and no later change has closed it. If its
// time is not over, Seal returns how long to wait; otherwise it returns zero. It does nothing
// if Changer is not a Sealer.
func (j *Journal) Seal(ctx context.Context) (wait time.Duration, err error) {
	sealer, ok := j.Changer.(resourcesync.Sealer)
	if !ok {
		return 0, nil
	}
	dump, err := j.Dump(ctx)
	if err != nil || dump.end.IsZero() {
		return 0, err
	}
	if wait := time.Until(dump.end); wait >= 0 {
		return wait + time.Millisecond, nil
	}
	return 0, sealer.Seal(ctx, dump.newest)
}

// Run seals each package whose time is over and that no later change has closed, until ctx
// ends. It returns at once if Changer is not a Sealer.
func (j *Journal) Run(ctx context.Context, log *slog.Logger) {
	if _, ok := j.Changer.(resourcesync.Sealer); !ok {
		return
	}
	for failed := false; ; {
		rest := min(pollInterval, max(j.Every, pollInterval/600))
		err := background.Safely(func() error {
			wait, err := j.Seal(ctx)
			if wait > 0 {
				rest = min(rest, wait)
			}
			return err
		})
		quiet := err == nil || errors.Is(err, resourcesync.ErrNotReady)
		switch {
		case ctx.Err() != nil:
			return
		case !quiet && !failed:
			log.Warn("the last package of a Change Dump cannot be closed; trying again", "set", j.Set, "error", err)
		case quiet && failed && err == nil:
			log.Info("packages of a Change Dump are closed again", "set", j.Set)
		}
		failed = !quiet || failed && err != nil
		if err != nil {
			rest = 10 * time.Second
		}
		if background.Sleep(ctx, rest) != nil {
			return
		}
	}
}
