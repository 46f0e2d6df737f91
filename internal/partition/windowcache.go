package partition

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"golang.org/x/sync/semaphore"
)

// A WindowCache divides a journal into the windows of Change Lists. It asks a
// [resourcesync.Windower] for them. Any other journal is walked once, and then only
// changes after the last closed window are read again. Its methods are safe for
// concurrent use.
type WindowCache struct {
	set     string // its name
	changer resourcesync.Changer
	max     int // changes in a window
	every   time.Duration
	settle  time.Duration

	lock    *semaphore.Weighted // held while the journal is read; a request can stop waiting
	since   time.Time
	windows *paging.Windows

	listed atomic.Pointer[[]resourcesync.Interval]

	mu    sync.Mutex
	loads map[resourcesync.Interval]load // of the closed windows that Recent covered last
}

// NewWindowCache returns the windows of a set's journal. For every and settle see
// [paging.NewWindows].
func NewWindowCache(set string, changer resourcesync.Changer, every time.Duration, max int, settle time.Duration) *WindowCache {
	return &WindowCache{set: set, changer: changer, max: max, every: every, settle: settle, lock: semaphore.NewWeighted(1)}
}

// Get returns the windows in order: each begins where the previous one ends, and only
// the last is open.
func (w *WindowCache) Get(ctx context.Context) ([]resourcesync.Interval, error) {
	windows, err := w.read(ctx)
	if err == nil {
		w.listed.Store(&windows)
	}
	return windows, err
}

// Lists reports whether the last call of Get returned a window with this name.
func (w *WindowCache) Lists(name string) bool {
	windows := w.listed.Load()
	from, err := ParseTime(name)
	if windows == nil || err != nil {
		return false
	}
	_, found := Find(*windows, from)
	return found
}

func (w *WindowCache) read(ctx context.Context) ([]resourcesync.Interval, error) {
	if windower, ok := w.changer.(resourcesync.Windower); ok {
		windows, err := windower.Windows(ctx, w.max)
		if err == nil && len(windows) == 0 {
			err = fmt.Errorf("the journal of set %q has no windows: even an empty one has an open window", w.set)
		}
		return windows, err
	}
	if err := w.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer w.lock.Release(1)
	since, err := w.changer.Since(ctx)
	if err != nil {
		return nil, err
	}
	if w.windows == nil || !w.since.Equal(since) {
		w.since, w.windows = since, paging.NewWindows(since, w.every, w.max, w.settle)
	}
	var builder entries.Builder
	for c, err := range checked.Changes(ctx, w.changer, resourcesync.Interval{From: w.windows.Rewind()}, nil) { // the list reports what it omits
		if err != nil {
			return nil, err
		}
		if err := w.windows.Add(c.Datetime, builder.ChangeSize(&c)); err != nil {
			return nil, fmt.Errorf("journal of set %q: %w", w.set, err)
		}
	}
	return w.windows.Intervals(), nil
}

// Last returns, after Get, the number of changes in the open window and the time of the
// newest change. The journal must not be a [resourcesync.Windower].
func (w *WindowCache) Last(ctx context.Context) (changes int, newest time.Time, err error) {
	if err := w.lock.Acquire(ctx, 1); err != nil {
		return 0, time.Time{}, err
	}
	defer w.lock.Release(1)
	changes, newest = w.windows.Last()
	return changes, newest, nil
}

const (
	recentSpan = 24 * time.Hour

	// recentMax leaves room for changes that are added while the list is rendered.
	recentMax = rsxml.MaxEntries - 1000
)

// A load is a number of changes and the bytes of their entries.
type load struct{ changes, bytes int }

func (l load) plus(o load) load { return load{l.changes + o.changes, l.bytes + o.bytes} }

func (l load) fits() bool { return l.changes <= recentMax && l.bytes <= paging.MaxBytes }

// Recent returns the interval of the list of recent changes: the open window, and the
// closed windows before it that together cover a day. If their changes do not fit into
// one document, From is later. The result depends on the journal alone, not on the clock.
func (w *WindowCache) Recent(ctx context.Context) (resourcesync.Interval, error) {
	windows, err := w.Get(ctx)
	if err != nil {
		return resourcesync.Interval{}, err
	}
	w.mu.Lock()
	known := w.loads
	w.mu.Unlock()
	used := make(map[resourcesync.Interval]load)
	var (
		all    load
		newest = windows[len(windows)-1].From
		from   time.Time
	)
	for _, iv := range slices.Backward(windows) {
		l, ok := known[iv]
		if !ok || !all.plus(l).fits() {
			var cut time.Time
			if l, cut, err = w.load(ctx, iv, all); err != nil {
				return resourcesync.Interval{}, err
			}
			if !cut.IsZero() {
				from = cut
				break
			}
		}
		if !iv.Open() {
			used[iv] = l
		}
		all, from = all.plus(l), iv.From
		if newest.Sub(from) >= recentSpan {
			break
		}
	}
	w.mu.Lock()
	w.loads = used
	w.mu.Unlock()
	return resourcesync.Interval{From: from}, nil
}

// load returns the load of iv. If its changes do not fit into a list beside others, it
// returns the time after which they do.
func (w *WindowCache) load(ctx context.Context, iv resourcesync.Interval, others load) (all load, cut time.Time, err error) {
	var (
		builder entries.Builder
		times   []time.Time
		sizes   []int
	)
	for c, err := range checked.Changes(ctx, w.changer, iv, nil) { // the list reports what it omits
		if err != nil {
			return load{}, time.Time{}, err
		}
		size := builder.ChangeSize(&c)
		times, sizes = append(times, c.Datetime), append(sizes, size)
		all = all.plus(load{1, size})
	}
	for i, size := range slices.Backward(sizes) {
		if others = others.plus(load{1, size}); !others.fits() {
			return load{}, times[i], nil
		}
	}
	return all, time.Time{}, nil
}
