// Package memory holds a set of resources in memory, together with the journal
// of its changes. It is for sets that a program makes itself, or that a scanner
// finds again whenever the program starts: nothing is kept when it ends.
//
// A [Set] is a [resourcesync.Provider] with every upgrade that does not need the
// resources' bytes, so it gives a Resource List and a Change List. A wrapper that
// adds Open gives it a Resource Dump. It keeps no archive: changes that it drops are
// gone.
package memory

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/wake"
)

// Options configure a [Set]. The zero value is a reasonable default.
type Options struct {
	// AwaitScan keeps the set closed until its first [Set.Scan] has
	// completed: until then the methods of Provider and its upgrades answer
	// [resourcesync.ErrNotReady], Covers reports false, and only Watch
	// works. What the set holds at that moment is its baseline. The journal
	// begins there, without a creation for each resource that was found.
	//
	// If false, the set is open, and empty, from the beginning, and its
	// journal tells how it was filled.
	AwaitScan bool

	// Retain is how long changes stay in the journal. They are dropped by
	// whole windows when a later change is made, together with the memory
	// of the deletions among them. If zero, 90 days is used; if negative,
	// no change is ever dropped.
	Retain time.Duration

	// Window is the span of time of one Change List, in whole microseconds;
	// windows begin at multiples of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// MaxDelete is the fraction of the set that scans may delete without a
	// confirmation. When net deletions, deletions less creations of the last one to
	// two times MaxDeleteHold, exceed it, [Set.Scan] holds them, and always when
	// nothing would be left. Creations balance later deletions for a few minutes
	// only. Up to two deletions are never held otherwise. If zero, 0.25 is used; if
	// 1 or more, no deletions are held; if negative, all net deletions are.
	MaxDelete float64

	// MaxDeleteHold is how long deletions are held: when no missing resource has
	// come back for that long, the next scan publishes them. A scan that misses more
	// than two others, or all that remain, begins that time again. If zero, one hour
	// is used; if negative, they are held until [Set.ConfirmDeletions].
	MaxDeleteHold time.Duration

	// Now returns the time of day. If nil, time.Now is used.
	Now func() time.Time
}

// A Set is a set of resources in memory.
//
// All methods are safe for concurrent use. What a read shows is the state at the
// moment it began, even while the set is written to, and a read that is under
// way never makes a writer wait. The slices of the resources that are yielded
// belong to the set and must not be written to.
//
// Resources may share a URI. When one of them is deleted or moves away, its deletion
// is journalled, and after it the creation of one that is still there: Destinations
// know URIs, not keys.
//
// Every change gets a Datetime of its own: the time of day in microseconds, or
// the microsecond after the change before it if the time of day is not later
// than that one.
type Set struct {
	now    func() time.Time
	retain time.Duration
	window time.Duration

	// snapshot is a copy of state for reading. It is nil from a change to
	// the first read after it, so that a run of writes is not made dearer
	// by copies that nobody looks at.
	snapshot atomic.Pointer[state]

	division division
	limits   guard.Limits

	mu       sync.Mutex
	state    state
	scan     uint64 // number of the scan that is under way, or was last
	scanning bool
	begun    int64 // the newest change when that scan began
	clock    int64 // the time when that scan began
	guard    guard.State
	seals    []int64 // where packages of the Change Dump end
	scratch  []byte

	changed wake.Bell
}

var (
	_ resourcesync.Provider = (*Set)(nil)
	_ resourcesync.Stater   = (*Set)(nil)
	_ resourcesync.Cutter   = (*Set)(nil)
	_ resourcesync.Changer  = (*Set)(nil)
	_ resourcesync.Windower = (*Set)(nil)
	_ resourcesync.Sealer   = (*Set)(nil)
	_ resourcesync.Watcher  = (*Set)(nil)
	_ resourcesync.Coverer  = (*Set)(nil)
)

// New returns an empty set. opts may be nil.
func New(opts *Options) *Set {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Set{now: o.Now, retain: o.Retain, window: o.Window, limits: guard.NewLimits(o.MaxDelete, o.MaxDeleteHold)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.retain == 0 {
		s.retain = 90 * 24 * time.Hour
	}
	if s.window == 0 {
		s.window = 24 * time.Hour
	}
	s.state = newState(s.now().UnixMicro(), !o.AwaitScan)
	return s
}
