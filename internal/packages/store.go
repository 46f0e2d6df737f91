package packages

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

// errRoom means that no memory for a plan became free in time.
var errRoom = fmt.Errorf("%w: the plans of packages have reached their memory limit", admission.ErrBusy)

// A store holds plans, and counts all of them against a budget, whether they are being
// made, sent or kept. Plans of listed packages are kept until others need their room,
// and evicted least recently used first.
type store[S any] struct {
	listed, unlisted *budget

	mu   sync.Mutex
	kept map[string]*list.Element // by key
	used *list.List               // of *Plan[S], those that are kept; the one used last in front
}

func newStore[S any](listed, unlisted int64) *store[S] {
	return &store[S]{
		listed:   newBudget(listed),
		unlisted: newBudget(unlisted),
		kept:     make(map[string]*list.Element),
		used:     list.New(),
	}
}

// get returns the plan that is kept for key, or nil. The caller releases it.
func (st *store[S]) get(key string) *Plan[S] {
	st.mu.Lock()
	defer st.mu.Unlock()
	e := st.kept[key]
	if e == nil {
		return nil
	}
	st.used.MoveToFront(e)
	p := e.Value.(*Plan[S])
	p.users++
	return p
}

// hold adds n users to those of p, each of whom releases it.
func (st *store[S]) hold(p *Plan[S], n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	p.users += n
	st.freeIfUnused(p)
}

// release ends one use of p.
func (st *store[S]) release(p *Plan[S]) { st.hold(p, -1) }

// keep replaces the plan kept for the key of p with p.
func (st *store[S]) keep(p *Plan[S]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.forget(st.kept[p.key])
	st.kept[p.key] = st.used.PushFront(p)
	p.kept = true
}

// drop forgets p if it is the plan kept for its key.
func (st *store[S]) drop(p *Plan[S]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if e := st.kept[p.key]; e != nil && e.Value.(*Plan[S]) == p {
		st.forget(e)
	}
}

// forget is called with mu held. e may be nil.
func (st *store[S]) forget(e *list.Element) {
	if e == nil {
		return
	}
	p := st.used.Remove(e).(*Plan[S])
	delete(st.kept, p.key)
	p.kept = false
	st.freeIfUnused(p)
}

// freeIfUnused frees the room of p if no transfer holds it. It forgets p if p is idle and
// others wait for room. It is called with mu held.
func (st *store[S]) freeIfUnused(p *Plan[S]) {
	switch {
	case p.users > 0:
	case !p.kept:
		p.room.free()
	case p.room.of.waiting.Load() > 0:
		st.forget(st.kept[p.key])
	}
}

// evict forgets the plan that has been idle for longest, and reports whether there was
// one.
func (st *store[S]) evict() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for e := st.used.Back(); e != nil; e = e.Prev() {
		if e.Value.(*Plan[S]).users == 0 {
			st.forget(e)
			return true
		}
	}
	return false
}

// reserve waits for room of n bytes, for a limited time. A plan that would take the whole
// budget or more gets it when there is no other.
func (st *store[S]) reserve(ctx context.Context, unlisted bool, n int64, wait time.Duration) (*room, error) {
	r := &room{of: st.listed, evict: st.evict}
	if unlisted {
		r.of, r.evict = st.unlisted, nil // none of them is kept
	}
	if err := r.resize(ctx, n, wait); err != nil {
		return nil, err
	}
	return r, nil
}

func (st *store[S]) size() int64 { return st.listed.bytes.Load() + st.unlisted.bytes.Load() }

// A budget bounds the bytes of plans.
type budget struct {
	limit   int64
	left    *semaphore.Weighted
	bytes   atomic.Int64 // taken
	waiting atomic.Int64
}

func newBudget(limit int64) *budget {
	return &budget{limit: limit, left: semaphore.NewWeighted(limit)}
}

// A room is the part of a budget that a plan has.
type room struct {
	of    *budget
	evict func() bool // nil, or makes room
	bytes int64
}

// resize changes the size of r to n bytes, at most the budget. It waits for memory for a
// limited time, during which r keeps its bytes.
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
		if r.evict != nil && r.evict() {
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
