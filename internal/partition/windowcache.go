package partition

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
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

	lock    chan struct{} // held while the journal is read; a request can stop waiting
	since   time.Time
	windows *paging.Windows

	listed atomic.Pointer[[]resourcesync.Interval]

	mu    sync.Mutex
	loads map[resourcesync.Interval]load // of the closed windows that Recent covered last
}

// NewWindowCache returns the windows of a set's journal. For every and settle see
// [paging.NewWindows].
func NewWindowCache(set string, changer resourcesync.Changer, every time.Duration, max int, settle time.Duration) *WindowCache {
	return &WindowCache{set: set, changer: changer, max: max, every: every, settle: settle, lock: make(chan struct{}, 1)}
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
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.release()
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
	if err := w.acquire(ctx); err != nil {
		return 0, time.Time{}, err
	}
	defer w.release()
	changes, newest = w.windows.Last()
	return changes, newest, nil
}

func (w *WindowCache) acquire(ctx context.Context) error {
	select {
	case w.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *WindowCache) release() { <-w.lock }
