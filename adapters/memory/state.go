package memory

import (
	"context"
	"strconv"
	"time"

	"github.com/tidwall/btree"

	"github.com/resourcesync-go/resourcesync"
)

// state is what a set is made of. The trees are copied on write, and what is
// appended to the journal lies beyond the end that a copy knows, so that a copy
// costs a few words whatever the number of resources.
//
// Times are microseconds since 1970. They also number the changes, because no
// two of them have the same.
type state struct {
	ready   bool
	begin   int64 // when the history of the set began
	since   int64 // after when the journal is complete
	last    int64 // the newest change
	count   int   // resources
	items   *btree.Map[string, item]
	places  *btree.BTreeG[place]
	journal []event

	whole resourcesync.Stat // of all keys; in a snapshot only
}

// An item is what the set knows of a key: its resource, or that it had one.
type item struct {
	newest int64   // the newest change of the key, or of a forgotten one beside it
	member *member // nil once deleted
}

// A member is a resource in the set.
type member struct {
	resource *resourcesync.Resource // never written to
	size     int                    // of its entry in a Resource List, in bytes
	scan     uint64                 // the newest scan that is not to delete it; guarded by Set.mu
}

func newState(now int64, ready bool) state {
	return state{
		ready:  ready,
		begin:  now,
		since:  now,
		last:   now,
		items:  btree.NewMap[string, item](0),
		places: btree.NewBTreeGOptions(place.less, btree.Options{NoLocks: true}),
	}
}

// view returns the state to read from.
func (s *Set) view(ctx context.Context) (*state, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st := s.current()
	if !st.ready {
		return nil, resourcesync.ErrNotReady
	}
	return st, nil
}

// current returns a copy of the state that nothing will change any more.
func (s *Set) current() *state {
	if st := s.snapshot.Load(); st != nil {
		return st
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.snapshot.Load()
	if st == nil {
		st = new(s.state)
		// Copying marks all nodes of the original as shared, which is
		// a write to it: hence the lock.
		st.items = s.state.items.Copy()
		st.places = s.state.places.Copy()
		st.whole = newStat(st.last, st.count)
		s.snapshot.Store(st)
	}
	return st
}

// stat describes the resources in r.
func (st *state) stat(r resourcesync.Range) resourcesync.Stat {
	newest, count := st.begin, 0
	st.items.Ascend(r.From, func(key string, it item) bool {
		if !r.Contains(key) {
			return false
		}
		newest = max(newest, it.newest)
		if it.member != nil {
			count++
		}
		return true
	})
	return newStat(newest, count)
}

// newStat describes a range. Its newest change and its size tell its states
// apart: the newest change never goes back while there is anything in the range,
// and every change is newer than all before it.
func newStat(newest int64, count int) resourcesync.Stat {
	version := strconv.AppendInt(make([]byte, 0, 32), newest, 36)
	version = strconv.AppendInt(append(version, '.'), int64(count), 36)
	return resourcesync.Stat{
		Count:        int64(count),
		LastModified: moment(newest),
		Version:      string(version),
	}
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
