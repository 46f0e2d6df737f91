package memory

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// An event is a change in the journal.
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
