package memory

import (
	"context"
	"strconv"
	"time"

	"github.com/tidwall/btree"

	"github.com/resourcesync-go/resourcesync"
)

// state is the data of a set. Its trees are copied on write, and the journal is only
// appended to, so a copy takes a few words, whatever the number of resources.
//
// Times are microseconds since 1970. They also number the changes, because no two
// changes have the same time.
type state struct {
	ready   bool
	begin   int64 // the beginning of the set's history
	since   int64 // the journal is complete after this time
	last    int64 // the time of the newest change
	count   int   // resources
	items   *btree.Map[string, item]
	places  *btree.BTreeG[place]
	journal []event

	whole resourcesync.Stat // of all keys; set in snapshots only
}

// An item is the state of a key that has or had a resource.
type item struct {
	newest int64   // the newest change of the key, or of a forgotten key beside it
	member *member // nil after deletion
}

// A member is a resource in the set.
type member struct {
	resource *resourcesync.Resource // immutable
	size     int                    // of its entry in a Resource List, in bytes
	scan     uint64                 // the newest scan that must not delete it; guarded by Set.mu
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

// view returns the current state for reading, or an error.
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

// current returns an immutable copy of the state.
func (s *Set) current() *state {
	if st := s.snapshot.Load(); st != nil {
		return st
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.snapshot.Load()
	if st == nil {
		st = new(s.state)
		// Copying writes to the original, because it marks its nodes as
		// shared; hence the lock.
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

// newStat describes a range. The time of its newest change and its size identify its
// state: the time never moves back while the range is not empty, and every change is
// newer than all changes before it.
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
