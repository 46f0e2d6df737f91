package memory

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An event is a change in the journal.
type event struct {
	at       int64
	change   resourcesync.ChangeType
	resource *resourcesync.Resource
	size     int // of its entry in a Change List, in bytes
}

func (e *event) value() resourcesync.Change {
	return resourcesync.Change{Type: e.change, Datetime: moment(e.at), Resource: *e.resource}
}

// journal appends an event to the journal.
func (s *Set) journal(from *changes.Event) {
	e := event{at: from.At, change: from.Type, resource: from.Resource}
	c := e.value()
	var entry rsxml.Entry
	entry.SetChange(&c)
	e.size = s.size(&entry)
	s.state.journal = append(s.state.journal, e)
}

// resourceSize returns how many bytes the entry of r takes in a Resource List.
func (s *Set) resourceSize(r *resourcesync.Resource) int {
	var entry rsxml.Entry
	entry.SetResource(r)
	return s.size(&entry)
}

// size returns how many bytes e takes in a document.
func (s *Set) size(e *rsxml.Entry) int {
	s.scratch, _ = rsxml.AppendEntry(s.scratch[:0], &anyHead, e)
	return len(s.scratch)
}

// anyHead is the head of a document whose entries are written in full.
var anyHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// forget drops from the journal, at the time of a new change, the windows that
// have ended longer ago than changes are retained.
func (s *Set) forget(now int64) {
	if s.retain < 0 {
		return
	}
	journal := s.state.journal
	n := after(journal, paging.Horizon(moment(now), s.retain, s.window))
	if n == 0 {
		return
	}
	for _, e := range journal[:n] {
		// A deletion is remembered unless another resource has taken
		// the key since.
		if it, _ := s.state.items.Get(e.resource.Key); it.newest == e.at && it.member == nil {
			s.state.bury(e.resource.Key, e.at)
		}
	}
	s.state.since = paging.Boundary(moment(journal[n-1].at), s.window).UnixMicro()
	s.state.journal = slices.Clone(journal[n:])
}

// bury drops the memory of the deletion of key, at the time at, and leaves the
// time with the items beside it. A range that held the deletion and holds
// anything else holds one of them. So a page does not seem older than the last
// deletion from it, which would keep it from a Destination that has not looked
// for longer than changes are retained.
func (st *state) bury(key string, at int64) {
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
	i, found := slices.BinarySearchFunc(journal, t, func(e event, t time.Time) int { return moment(e.at).Compare(t) })
	if found {
		i++ // no two changes have the same time
	}
	return i
}

// Since implements [resourcesync.Changer]. It is the time the set was made, or
// its first scan ended, until changes are dropped from the journal.
func (s *Set) Since(ctx context.Context) (time.Time, error) {
	st, err := s.view(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return moment(st.since), nil
}

// Changes implements [resourcesync.Changer]. Of a deleted resource, a change
// has Key and URI.
func (s *Set) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		st, err := s.view(ctx)
		if err != nil {
			yield(resourcesync.Change{}, err)
			return
		}
		for _, e := range st.journal[after(st.journal, iv.From):] {
			if !iv.Contains(moment(e.at)) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if !yield(e.value(), nil) {
				return
			}
		}
	}
}
