package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

type event struct {
	changes.Event
	size int // of its entry in a Change List, in bytes
}

// applyRetention drops the windows of the journal that ended longer ago than Retain. now
// is the time of a new change.
func (s *Set) applyRetention(now int64) {
	if s.retain < 0 {
		return
	}
	journal := s.state.journal
	n := after(journal, paging.Horizon(moment(now), s.retain, s.window))
	if n == 0 {
		return
	}
	for _, e := range journal[:n] {
		// The key may have a resource again since the deletion.
		if it, _ := s.state.items.Get(e.Resource.Key); it.newest == e.At && it.member == nil {
			s.state.forgetDeletion(e.Resource.Key, e.At)
		}
	}
	s.state.since = paging.Boundary(moment(journal[n-1].At), s.window).UnixMicro()
	s.state.journal = slices.Clone(journal[n:])
}

// forgetDeletion removes the record of the deletion of key, at the time at, and leaves
// the time with the neighbouring items. A range that contained the deletion and contains
// anything else contains one of them. So the time of a page is never before the last
// deletion from it. Otherwise a Destination that polls more rarely than Retain would
// miss the deletion.
func (st *state) forgetDeletion(key string, at int64) {
	st.items.Delete(key)
	for _, walk := range []func(string, func(string, item) bool){st.items.Descend, st.items.Ascend} {
		var beside string
		var it item
		walk(key, func(k string, i item) bool {
			beside, it = k, i
			return false
		})
		if beside != "" && it.newest < at {
			it.newest = at
			st.items.Set(beside, it)
		}
	}
}

// after returns the index of the first change in journal that is after t.
func after(journal []event, t time.Time) int {
	i, found := slices.BinarySearchFunc(journal, t, func(e event, t time.Time) int { return moment(e.At).Compare(t) })
	if found {
		i++ // no two changes have the same time
	}
	return i
}

// Since implements [resourcesync.Changer]. It returns the time at which the set was
// created, or its first scan ended, until changes are dropped from the journal.
func (s *Set) Since(ctx context.Context) (time.Time, error) {
	st, err := s.view(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return moment(st.since), nil
}

// Changes implements [resourcesync.Changer]. The Resource of a deletion has only its Key
// and URI.
func (s *Set) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		st, err := s.view(ctx)
		if err != nil {
			yield(resourcesync.Change{}, err)
			return
		}
		for _, e := range st.journal[after(st.journal, iv.From):] {
			if !iv.Contains(moment(e.At)) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if !yield(e.Change(), nil) {
				return
			}
		}
	}
}

// A windowCache keeps the division of the journal into windows, so that each change is
// read once, and a closed window stays closed when older changes are dropped.
type windowCache struct {
	mu      sync.Mutex
	max     int
	since   int64
	added   int64 // the newest change added to windows
	windows *paging.Windows
}

// Window returns the time that one Change List covers at most.
func (s *Set) Window() time.Duration { return s.window }

// Windows implements [resourcesync.Windower]. It keeps one division, so all callers
// should use the same max.
func (s *Set) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("memory: invalid maximum of %d changes in a window", max)
	}
	d := &s.windows
	d.mu.Lock()
	defer d.mu.Unlock()
	st, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	if d.windows == nil || d.max != max || d.since != st.since {
		d.begin(st, s, max)
	}
	for _, e := range st.journal[after(st.journal, moment(d.added)):] {
		if err := d.windows.Add(moment(e.At), e.size); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		d.added = e.At
	}
	return d.windows.Intervals(), nil
}

// begin restarts the division, and keeps closed windows that are still in the journal.
func (d *windowCache) begin(st *state, s *Set, max int) {
	var closed []paging.Window
	if d.windows != nil && d.max == max {
		since := moment(st.since)
		closed = slices.DeleteFunc(d.windows.Closed(), func(w paging.Window) bool { return w.From.Before(since) })
	}
	d.max, d.since = max, st.since
	d.added = st.since
	d.windows = paging.NewWindows(moment(st.since), s.window, max, 0)
	if n := len(closed); n > 0 {
		d.windows.Resume(closed)
		d.added = closed[n-1].Until.UnixMicro()
	}
}

// Seals implements [resourcesync.Sealer].
func (s *Set) Seals(ctx context.Context, after time.Time) (ends []time.Time, err error) {
	if _, err := s.view(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.seals {
		if end := moment(at); end.After(after) {
			ends = append(ends, end)
		}
	}
	return ends, nil
}

// Seal implements [resourcesync.Sealer].
func (s *Set) Seal(_ context.Context, newest time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	journal := s.state.journal
	if n := len(journal); n == 0 || !moment(journal[n-1].At).Equal(newest) || slices.Contains(s.seals, newest.UnixMicro()) {
		return nil
	}
	s.seals = slices.DeleteFunc(s.seals, func(at int64) bool { return at <= s.state.since })
	s.seals = append(s.seals, newest.UnixMicro())
	return nil
}
