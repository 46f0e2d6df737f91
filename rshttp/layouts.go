package rshttp

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/resourcesync-go/resourcesync/internal/admission"
)

const (
	// layoutBytes bounds the memory of all layouts of packages, whether they are
	// being made, sent or kept for the next request.
	layoutBytes = 128 << 20

	// unlistedBytes is the part of it for packages that no dump lists, of which a
	// client can request any number. Listed packages have the rest.
	unlistedBytes = layoutBytes / 8
)

// errRoom says that a request has waited in vain for memory for a layout.
var errRoom = fmt.Errorf("%w: the layouts of packages take all the memory that they may take", admission.ErrBusy)

// layouts hold the layouts of packages, and count all of them against a budget. A
// layout is held while it is being sent and while it is kept. Those of listed
// packages are kept until others need their room, and evicted least recently used
// first.
type layouts struct {
	listed, unlisted *budget

	mu   sync.Mutex
	kept map[string]*list.Element // by path
	used *list.List               // of *layout, those that are kept; the one used last in front
}

func newLayouts(listed, unlisted int64) *layouts {
	return &layouts{
		listed:   newBudget(listed),
		unlisted: newBudget(unlisted),
		kept:     make(map[string]*list.Element),
		used:     list.New(),
	}
}

// get returns the layout that is kept for path, or nil. The caller releases it.
func (ls *layouts) get(path string) *layout {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	e := ls.kept[path]
	if e == nil {
		return nil
	}
	ls.used.MoveToFront(e)
	l := e.Value.(*layout)
	l.users++
	return l
}

// hold adds n users to those of l, each of whom releases it.
func (ls *layouts) hold(l *layout, n int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.users += n
	ls.let(l)
}

// release ends one use of l.
func (ls *layouts) release(l *layout) { ls.hold(l, -1) }

// keep replaces the layout kept for the path of l with l.
func (ls *layouts) keep(l *layout) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.forget(ls.kept[l.path()])
	ls.kept[l.path()] = ls.used.PushFront(l)
	l.kept = true
}

// drop forgets l if it is the layout kept for its path.
func (ls *layouts) drop(l *layout) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if e := ls.kept[l.path()]; e != nil && e.Value.(*layout) == l {
		ls.forget(e)
	}
}

// forget is called with mu held. e may be nil.
func (ls *layouts) forget(e *list.Element) {
	if e == nil {
		return
	}
	l := ls.used.Remove(e).(*layout)
	delete(ls.kept, l.path())
	l.kept = false
	ls.let(l)
}

// let frees the room of l if no transfer holds it, and forgets it if it is idle and
// others wait for room. It is called with mu held.
func (ls *layouts) let(l *layout) {
	switch {
	case l.users > 0:
	case !l.kept:
		l.room.free()
	case l.room.of.waiting.Load() > 0:
		ls.forget(ls.kept[l.path()])
	}
}

// evict forgets the layout that has been idle for longest, and reports whether there
// was one.
func (ls *layouts) evict() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for e := ls.used.Back(); e != nil; e = e.Prev() {
		if e.Value.(*layout).users == 0 {
			ls.forget(e)
			return true
		}
	}
	return false
}

// reserve waits for room of n bytes, for a bounded time. A layout that would take the
// whole budget or more gets it when there is no other.
func (ls *layouts) reserve(ctx context.Context, unlisted bool, n int64, wait time.Duration) (*room, error) {
	r := &room{in: ls, of: ls.listed}
	if unlisted {
		r.of = ls.unlisted
	}
	if err := r.resize(ctx, n, wait); err != nil {
		return nil, err
	}
	return r, nil
}

// size returns the bytes of all layouts.
func (ls *layouts) size() int64 { return ls.listed.bytes.Load() + ls.unlisted.bytes.Load() }

// A budget is the number of bytes that layouts may take.
type budget struct {
	limit   int64
	left    *semaphore.Weighted
	bytes   atomic.Int64 // taken
	waiting atomic.Int64
}

func newBudget(limit int64) *budget {
	return &budget{limit: limit, left: semaphore.NewWeighted(limit)}
}

// A room is the part of a budget that a layout has.
type room struct {
	in    *layouts
	of    *budget
	bytes int64
}

// resize waits until r can have n bytes. Meanwhile r keeps those that it has.
func (r *room) resize(ctx context.Context, n int64, wait time.Duration) error {
	more := min(n, r.of.limit) - r.bytes
	if more > 0 {
		if err := r.take(ctx, more, wait); err != nil {
			return err
		}
	} else {
		r.of.left.Release(-more)
	}
	r.bytes += more
	r.of.bytes.Add(more)
	return nil
}

func (r *room) take(ctx context.Context, n int64, wait time.Duration) error {
	r.of.waiting.Add(1)
	defer r.of.waiting.Add(-1)
	for !r.of.left.TryAcquire(n) {
		if r.of == r.in.listed && r.in.evict() {
			continue
		}
		if wait <= 0 {
			return errRoom
		}
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if r.of.left.Acquire(waiting, n) != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return errRoom
		}
		break
	}
	return nil
}

// free returns all bytes of r to the budget.
func (r *room) free() {
	r.of.left.Release(r.bytes)
	r.of.bytes.Add(-r.bytes)
	r.bytes = 0
}
