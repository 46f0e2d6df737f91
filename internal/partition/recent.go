package partition

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

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
