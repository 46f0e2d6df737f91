package rshttp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Some Destinations cannot read a Change List Index. For them the newest changes of
// a set are also in one Change List at a URI that never changes. Its from depends on
// the journal alone, never on the clock: the list has the newest windows that
// together cover a day before the open one. If they do not fit into a document, from
// is later, and the list has all changes after it.

const (
	recentSpan = 24 * time.Hour

	// recentMax leaves room for changes that come while the list is made.
	recentMax = rsxml.MaxEntries - 1000
)

// A load is a number of changes and the bytes of their entries.
type load struct{ changes, bytes int }

func (l load) plus(o load) load { return load{l.changes + o.changes, l.bytes + o.bytes} }

func (l load) fits() bool { return l.changes <= recentMax && l.bytes <= paging.MaxBytes }

// loads remembers those of the closed windows that the list had last.
type loads struct {
	mu sync.Mutex
	of map[resourcesync.Interval]load
}

// renderRecentChanges makes the Change List of the newest changes (section 12.1).
func (s *Source) renderRecentChanges(ctx context.Context, t target) (*document, error) {
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		iv, err := s.recent(ctx, t.set)
		if err != nil {
			return nil, err
		}
		out, err := s.renderChanges(ctx, t, t.set, doc, iv)
		if !errors.Is(err, errMoved) || retried {
			return out, err
		}
	}
}

// recent returns the interval of the newest changes of st.
func (s *Source) recent(ctx context.Context, st *set) (resourcesync.Interval, error) {
	windows, err := s.windows(ctx, st)
	if err != nil {
		return resourcesync.Interval{}, err
	}
	st.recent.mu.Lock()
	known := st.recent.of
	st.recent.mu.Unlock()
	used := make(map[resourcesync.Interval]load)
	var (
		all    load
		newest = windows[len(windows)-1].From
		from   time.Time
	)
	for _, w := range slices.Backward(windows) {
		l, ok := known[w]
		if !ok || !all.plus(l).fits() {
			var cut time.Time
			if l, cut, err = loadOf(ctx, st, w, all); err != nil {
				return resourcesync.Interval{}, err
			}
			if !cut.IsZero() {
				from = cut
				break
			}
		}
		if !w.Open() {
			used[w] = l
		}
		all, from = all.plus(l), w.From
		if newest.Sub(from) >= recentSpan {
			break
		}
	}
	st.recent.mu.Lock()
	st.recent.of = used
	st.recent.mu.Unlock()
	return resourcesync.Interval{From: from}, nil
}

// loadOf returns the load of w, or the time after which its changes fit into a list
// beside others if not all of them do.
func loadOf(ctx context.Context, st *set, w resourcesync.Interval, others load) (all load, cut time.Time, err error) {
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeList}}
	var (
		builder entries.Builder
		times   []time.Time
		sizes   []int
	)
	for c, err := range st.changes(ctx, w, nil) { // the list reports what it omits
		if err != nil {
			return load{}, time.Time{}, err
		}
		size := builder.Size(&head, builder.Change(&c))
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
