// Package memory keeps sets of resources and the journals of their changes in memory. It is
// for resources that a program creates itself, or that [scan.Into] finds again at each start:
// nothing survives the end of the program.
//
// A [Set] is a [resourcesync.Provider] with all upgrades that do not need the content of
// resources, so it has a Resource List and a Change List. For a Resource Dump, wrap it in a
// type with an Open method, or set rshttp.Set.Opener. It has no archive: dropped changes are
// lost.
package memory

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Options are the optional arguments of [New].
type Options struct {
	scan.SetOptions

	// Retain is the time for which changes stay in the journal. A later change
	// drops complete windows of older ones, and forgets their deletions. If zero,
	// 90 days is used; if negative, no changes are dropped.
	Retain time.Duration

	// Window is the time that one Change List covers, in whole microseconds.
	// Windows begin at multiples of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// Now returns the current time. If nil, time.Now is used.
	Now func() time.Time
}

// A Set is a set of resources in memory.
//
// All methods are safe for concurrent use. A read shows the state at its beginning, even
// if the set is written to meanwhile, and never blocks a writer. Callers must not modify
// the slices of yielded resources.
//
// Resources may share a URI. When one of them is deleted or moves to another URI, the
// journal has its deletion and then the creation of another resource at the URI, because
// Destinations know URIs, not keys.
//
// Each change has a unique Datetime: the current time in microseconds, or a microsecond
// after the previous change if that is later.
type Set struct {
	now    func() time.Time
	retain time.Duration
	window time.Duration

	// snapshot is a copy of state for readers. It is nil between a change and the
	// next read, so that successive writes make no unused copies.
	snapshot atomic.Pointer[state]

	windows windowCache

	mu       sync.Mutex
	limits   guard.Limits
	state    state
	scan     uint64 // number of the current or last scan
	scanning bool
	part     bool  // that scan is one of a part
	begun    int64 // the newest change at the beginning of that scan
	clock    int64 // the time at the beginning of that scan
	guard    guard.State
	seals    []int64 // ends of Change Dump packages
	builder  entries.Builder
	origin   string

	withdrawn map[string]*resourcesync.Resource // whose deletions wait
	published int                               // withdrawn resources whose deletions no scan has judged
	approve   func(context.Context) error       // see ApproveWithdrawn; may be nil

	changed background.Bell
}

var _ scan.Stored = (*Set)(nil)

// New returns an empty set. opts may be nil.
func New(opts *Options) *Set {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Set{
		now:    o.Now,
		retain: cmp.Or(o.Retain, 90*24*time.Hour),
		window: cmp.Or(o.Window, 24*time.Hour),
		limits: stored.Limits(&o.SetOptions),

		withdrawn: map[string]*resourcesync.Resource{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.state = newState(s.now().UnixMicro(), !o.AwaitScan)
	return s
}

// Watch implements [resourcesync.Watcher]. It calls wake in this goroutine: first at once,
// then after changes. Several changes may lead to a single call. It returns the error of
// ctx when ctx is done.
func (s *Set) Watch(ctx context.Context, wake func()) error {
	return s.changed.Listen(ctx, wake)
}

// state is the data of a set. Its trees are copied on write, and the journal is only
// appended to, so a copy takes a few words, regardless of the number of resources.
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
		st.whole = changes.Stat(st.last, int64(st.count))
		s.snapshot.Store(st)
	}
	return st
}

func (st *state) stat(r resourcesync.Range) resourcesync.Stat {
	newest, count := st.begin, int64(0)
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
	return changes.Stat(newest, count)
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
