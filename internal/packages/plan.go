package packages

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A Plan is a package ready to be sent: everything but its content. It is immutable,
// except that checksums are added when they become known.
type Plan[S any] struct {
	// State is the state of the set that the package shows.
	State S

	// Tag differs between packages with different bytes, for an entity tag.
	Tag string

	key   string
	text  render.Text // of the manifest
	zip   *virtualzip.Archive
	items []item

	room  *room         // the memory that it takes, reserved
	users int           // transfers that hold it, under the lock of store
	kept  *list.Element // among those that are kept, under the same lock; nil if p is not
}

// newPlan returns the plan of contents whose items are checked.
func (pl *Planner[S]) newPlan(pkg *Package[S], c *Contents, state S) (*Plan[S], error) {
	p := &Plan[S]{State: state, key: pkg.Path, text: c.Text, items: c.items}
	var err error
	p.zip, err = c.archive(
		func(ctx context.Context, it *item) (io.ReadCloser, error) { return pkg.Content.open(ctx, it) },
		func(ctx context.Context, i int) (uint32, error) { return pl.sum(ctx, pkg, p, i) })
	if err != nil {
		return nil, err
	}
	for i := range p.items {
		if it := &p.items[i]; it.known == learned {
			if err := p.zip.Learn(i+1, it.crc); err != nil {
				return nil, err
			}
		}
	}
	// Add the digest of the manifest, because it contains the digests of the items.
	manifest := base64.RawURLEncoding.EncodeToString(c.Text.Sum[:16])
	sum := sha256.Sum256([]byte(p.zip.Version() + `"` + manifest + `"`))
	p.Tag = base64.RawURLEncoding.EncodeToString(sum[:16])
	return p, nil
}

// archive lays out the package. open opens an item, and sum reads the i-th item for its
// checksum. If they are nil, the archive can only compute the size of the package.
func (c *Contents) archive(open func(context.Context, *item) (io.ReadCloser, error), sum func(ctx context.Context, i int) (uint32, error)) (*virtualzip.Archive, error) {
	return virtualzip.New(func(yield func(virtualzip.Entry, error) bool) {
		text := c.Text
		if !yield(virtualzip.Entry{Name: manifestName, Modified: c.At, Size: int64(text.Size), CRC32: text.CRC, Open: text.Open}, nil) {
			return
		}
		for i := range c.items {
			it := &c.items[i]
			e := virtualzip.Entry{
				Name:     c.names[i],
				Modified: it.Resource.LastModified,
				Size:     it.size,
				CRC32:    it.crc,
				Open:     func(ctx context.Context) (io.ReadCloser, error) { return open(ctx, it) },
			}
			if it.known != stated {
				e.Checksum = func(ctx context.Context) (uint32, error) { return sum(ctx, i) }
			}
			if !yield(e, nil) {
				return
			}
		}
	})
}

func (p *Plan[S]) memory() int64 {
	return p.text.Memory() + p.zip.Cost() + itemMemory(p.items) + int64(len(p.key)) + planMemory
}

// planMemory is the memory of a Plan, its State and its entry in the store, in bytes.
const planMemory = 1024

// sum returns the checksum of the i-th item, if it is known. The manifest comes first.
func (p *Plan[S]) sum(i int) (uint32, bool) { return p.zip.Sum(i + 1) }

// errRoom means that no memory for a plan became free in time.
var errRoom = fmt.Errorf("%w: the plans of packages have reached their memory limit", admission.ErrBusy)

// A store holds plans, and counts all of them against a budget, whether they are being
// made, sent or kept. Plans of listed packages are kept until others need their room,
// and evicted least recently used first.
type store[S any] struct {
	listed, unlisted *budget

	mu   sync.Mutex
	kept map[string]*Plan[S] // by key
	used *list.List          // of the plans that are kept; the one used last in front
}

func newStore[S any](listed, unlisted int64) *store[S] {
	return &store[S]{
		listed:   newBudget(listed),
		unlisted: newBudget(unlisted),
		kept:     make(map[string]*Plan[S]),
		used:     list.New(),
	}
}

// get returns the plan that is kept for key, or nil. The caller releases it.
func (st *store[S]) get(key string) *Plan[S] {
	st.mu.Lock()
	defer st.mu.Unlock()
	p := st.kept[key]
	if p != nil {
		st.used.MoveToFront(p.kept)
		p.users++
	}
	return p
}

// hold adds n users to p, each of which releases it.
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
	if old := st.kept[p.key]; old != nil {
		st.forget(old)
	}
	st.kept[p.key], p.kept = p, st.used.PushFront(p)
}

// drop forgets p if it is kept.
func (st *store[S]) drop(p *Plan[S]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.kept != nil {
		st.forget(p)
	}
}

// forget ends the keeping of p. It is called with mu held.
func (st *store[S]) forget(p *Plan[S]) {
	st.used.Remove(p.kept)
	delete(st.kept, p.key)
	p.kept = nil
	st.freeIfUnused(p)
}

// freeIfUnused frees the room of p if no transfer holds it. It forgets p if p is idle and
// others wait for room. It is called with mu held.
func (st *store[S]) freeIfUnused(p *Plan[S]) {
	switch {
	case p.users > 0:
	case p.kept == nil:
		p.room.free()
	case p.room.of.waiting.Load() > 0:
		st.forget(p)
	}
}

// evict forgets the plan that has been idle for longest, and reports whether there was
// one.
func (st *store[S]) evict() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for e := st.used.Back(); e != nil; e = e.Prev() {
		if p := e.Value.(*Plan[S]); p.users == 0 {
			st.forget(p)
			return true
		}
	}
	return false
}

// reserve waits for room of n bytes, for a limited time. A plan that needs the whole budget
// or more gets it when no other plan exists.
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

func (r *room) free() {
	r.of.left.Release(r.bytes)
	r.of.bytes.Add(-r.bytes)
	r.bytes = 0
}
