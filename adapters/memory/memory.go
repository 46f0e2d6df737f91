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
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/wake"
	"github.com/resourcesync-go/resourcesync/rsxml"
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

	// left are the places that the write under way has told to be deleted,
	// by their URIs, and not told of again.
	left map[string]place

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

// Put adds resources to the set, each in place of the one with its key if there
// is one. What has the same entry as the resource in the set, by
// [resourcesync.Resource.EqualEntry], is no change and not journalled; its Stamp
// is kept. A LastModified in the future is recorded as unknown. A read sees all of
// the resources of one call or none.
//
// The set keeps copies. If a resource is not fit to be published, because its
// key is empty or longer than resourcesync.MaxKeyLength or because no document
// can hold its URI or another field (see [rsxml.CheckResource]), the error names
// the field and none of them is put.
func (s *Set) Put(resources ...resourcesync.Resource) error {
	places := make([]place, len(resources))
	for i := range resources {
		var err error
		if places[i], err = check(&resources[i]); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		if err := rsxml.CheckResource(&resources[i]); err != nil {
			return fmt.Errorf("memory: resource %q: %w", resources[i].Key, err)
		}
	}
	s.write(func() {
		for i := range resources {
			s.put(&resources[i], places[i])
		}
	})
	return nil
}

// Delete removes the resources with these keys from the set. Keys that are not
// in the set change nothing. A read sees all of the deletions of one call or
// none.
func (s *Set) Delete(keys ...string) {
	s.write(func() {
		for _, key := range keys {
			s.delete(key)
		}
	})
}

// Get returns a copy of the resource with this key, and whether there is one. It
// also works while a set awaits its first scan.
func (s *Set) Get(key string) (resourcesync.Resource, bool) {
	// Not from a snapshot: a scanner asks before each resource that it
	// finds, and would have the state copied for each.
	s.mu.Lock()
	it, _ := s.state.items.Get(key)
	s.mu.Unlock()
	if it.member == nil {
		return resourcesync.Resource{}, false
	}
	return it.member.resource.Clone(), true
}

// Len returns the number of resources. It also works while a set awaits its
// first scan.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.count
}

// write runs f, which may change the state, and lets readers and watchers know
// if it did.
func (s *Set) write(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state.last
	f()
	s.tellAgain()
	if s.state.last != before {
		s.snapshot.Store(nil)
		s.changed.Ring()
	}
}

// put makes r the resource of its key and returns what that changed: nothing,
// "", if it was already.
func (s *Set) put(r *resourcesync.Resource, p place) resourcesync.ChangeType {
	change := resourcesync.Created
	was, _ := s.state.items.Get(r.Key)
	if r.LastModified.After(moment(s.state.last)) && r.LastModified.After(s.now()) {
		known := *r // the caller keeps its own
		known.LastModified = time.Time{}
		r = &known
	}
	switch {
	case was.member == nil:
		s.state.count++
		s.state.places.Set(p)
	case was.member.resource.EqualEntry(*r):
		if was.member.resource.Stamp != r.Stamp {
			m := *was.member
			m.resource.Stamp = r.Stamp
			was.member = &m
			s.state.items.Set(r.Key, was)
			s.snapshot.Store(nil) // an Opener wants to see the new Stamp
		}
		was.member.scan = s.scan
		return ""
	default:
		change = resourcesync.Updated
		if was.member.resource.URI != r.URI {
			// Destinations know URIs, not keys: what was at the old one is
			// gone, and what is at the new one is new to them.
			s.leave(was.member)
			change = resourcesync.Created
			s.state.places.Set(p)
		}
	}
	m := &member{resource: r.Clone(), scan: s.scan}
	var e rsxml.Entry
	e.SetResource(&m.resource)
	m.size = s.size(&e)
	s.state.items.Set(r.Key, item{newest: s.record(change, &m.resource), member: m})
	delete(s.left, r.URI)
	if was.member != nil {
		return resourcesync.Updated
	}
	return resourcesync.Created
}

// delete removes the resource with this key, if there is one.
func (s *Set) delete(key string) {
	was, _ := s.state.items.Get(key)
	if was.member == nil {
		return
	}
	s.state.count--
	at := s.leave(was.member)
	if s.state.ready || s.scanning {
		s.state.items.Set(key, item{newest: at})
	} else {
		s.state.items.Delete(key)
	}
}

// leave journals that the resource of m is not at its URI any more, and returns
// the time of that.
func (s *Set) leave(m *member) int64 {
	p := m.place()
	s.state.places.Delete(p)
	if s.state.ready {
		if s.left == nil {
			s.left = map[string]place{}
		}
		s.left[p.uri] = p
	}
	return s.record(resourcesync.Deleted, &resourcesync.Resource{Key: p.key, URI: p.uri})
}

// tellAgain journals once more the creation of resources whose URIs others have left:
// Destinations know URIs, not keys, and have just been told that what is there has
// been deleted.
func (s *Set) tellAgain() {
	if len(s.left) == 0 {
		return // as after most writes
	}
	for _, uri := range slices.Sorted(maps.Keys(s.left)) {
		if key, found := s.state.heir(s.left[uri]); found {
			it, _ := s.state.items.Get(key)
			it.newest = s.record(resourcesync.Created, &it.member.resource)
			s.state.items.Set(key, it)
		}
	}
	s.left = nil
}

// size returns how many bytes e takes in a document.
func (s *Set) size(e *rsxml.Entry) int {
	s.scratch, _ = rsxml.AppendEntry(s.scratch[:0], &anyHead, e)
	return len(s.scratch)
}

// anyHead is the head of a document whose entries are written in full.
var anyHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// check returns where requests find r, or why it cannot be published.
func check(r *resourcesync.Resource) (place, error) {
	switch {
	case r.Key == "":
		return place{}, fmt.Errorf("the resource at %q has no key", r.URI)
	case len(r.Key) > resourcesync.MaxKeyLength:
		return place{}, fmt.Errorf("key %.50q… has %d bytes, of at most %d", r.Key, len(r.Key), resourcesync.MaxKeyLength)
	}
	if err := rsxml.CheckURI(r.URI); err != nil {
		return place{}, fmt.Errorf("resource %q: %w", r.Key, err)
	}
	u, err := url.Parse(r.URI)
	if err != nil {
		return place{}, fmt.Errorf("resource %q: %w", r.Key, err)
	}
	return placeOf(u, r), nil
}
