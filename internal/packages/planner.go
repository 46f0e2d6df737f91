package packages

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

const (
	// planBytes bounds the memory of all plans, whether they are being made, sent or
	// kept for the next request.
	planBytes = 128 << 20

	// unlistedBytes is the part of planBytes for packages that no dump lists. Clients
	// can request any number of them.
	unlistedBytes = planBytes / 8

	// attempts is the maximum number of attempts to plan a package while the set
	// changes.
	attempts = 3
)

// Options configure a [Planner]. All are required.
type Options struct {
	Size        Size          // of a package
	Concurrency int           // plans in the making, and items read for checksums
	Wait        time.Duration // for a turn and for memory
	ReadTimeout time.Duration // for the next bytes of an item
}

// Counters count the work of a [Planner].
type Counters struct {
	Hits    atomic.Uint64 // requests answered with a kept plan
	Planned atomic.Uint64 // plans made
	Read    atomic.Uint64 // items read for their checksums alone
}

// A Planner makes and keeps the plans of packages, in bounded memory. S is the state of
// a package, from which the caller decides whether a plan is fresh. A Planner is safe for
// concurrent use.
type Planner[S any] struct {
	options  Options
	counters *Counters
	store    *store[S]
	groups   admission.Groups
	planning admission.Limiter
	reading  admission.Limiter
	doubts   doubts
}

// A Package is a package that a client requests.
type Package[S any] struct {
	Path string // identifies the package

	// Fresh reports whether a plan with this state can be sent. It is also called,
	// with the zero S, if there is none; its error ends the request.
	Fresh func(ctx context.Context, state S) (bool, error)

	// List returns the contents of the package, with the whole manifest, and their
	// state.
	List func(ctx context.Context) (*Contents, S, error)

	// Unlisted reports whether no dump is known to list the package now.
	Unlisted func() bool

	// TooLarge returns the error for a package that does not fit into the memory for
	// unlisted packages.
	TooLarge func() error

	Content Content
}

// NewPlanner returns a Planner that counts in c.
func NewPlanner[S any](o Options, c *Counters) *Planner[S] {
	return &Planner[S]{
		options:  o,
		counters: c,
		store:    newStore[S](planBytes-unlistedBytes, unlistedBytes),
		groups:   admission.NewGroups(),
		planning: admission.NewLimiter(o.Concurrency),
		reading:  admission.NewLimiter(o.Concurrency),
		doubts:   doubts{items: make(map[itemKey]bool)},
	}
}

// Memory returns the memory that all plans take, in bytes.
func (pl *Planner[S]) Memory() int64 { return pl.store.size() }

// Plan returns the plan of a package in the current state of the set. The caller calls
// Release.
func (pl *Planner[S]) Plan(ctx context.Context, pkg *Package[S]) (*Plan[S], error) {
	if p, err := pl.fresh(ctx, pkg); err != nil || p != nil {
		if p != nil {
			pl.counters.Hits.Add(1)
		}
		return p, err
	}
	unlisted := pkg.Unlisted()
	var room *room
	v, err := pl.groups.Of(unlisted).Do(ctx, pkg.Path, admission.Job{
		Begin: func(ctx context.Context) (err error) {
			room, err = pl.store.reserve(ctx, unlisted, pl.firstRoom(unlisted), pl.options.Wait)
			if err != nil {
				return err
			}
			if err = pl.planning.AcquireWithin(ctx, pl.options.Wait, unlisted); err != nil {
				room.free()
			}
			return err
		},
		Work: func(ctx context.Context) (_ any, err error) {
			var p *Plan[S]
			defer func() {
				pl.planning.Release(unlisted)
				if p == nil || p.room != room {
					room.free()
				}
			}()
			p, err = pl.planIn(ctx, pkg, room)
			return p, err
		},
		Share: func(v any, n int) { pl.store.hold(v.(*Plan[S]), n-1) },
	})
	if err != nil {
		return nil, err
	}
	return v.(*Plan[S]), nil
}

// Release ends the use of p.
func (pl *Planner[S]) Release(p *Plan[S]) { pl.store.release(p) }

// NewReader returns a reader of the package. Reading for verification takes a turn.
func (pl *Planner[S]) NewReader(ctx context.Context, pkg *Package[S], p *Plan[S]) *virtualzip.Reader {
	unlisted := pkg.Unlisted()
	return p.zip.NewReader(ctx, func(ctx context.Context) (end func(), err error) {
		return func() { pl.reading.Release(unlisted) }, pl.reading.Acquire(ctx, unlisted)
	})
}

// Failed drops p after err, an error of its reader, if content differs from its entry or
// cannot be read. It returns the reason, or nil if the client has disconnected, and the URI of the
// bitstream.
func (pl *Planner[S]) Failed(p *Plan[S], err error) (uri string, reason error) {
	entry, ok := errors.AsType[*virtualzip.EntryError](err)
	if !ok {
		return "", nil
	}
	for i := range p.items {
		if it := &p.items[i]; it.name() == entry.Name {
			uri = it.Resource.URI
			pl.doubts.add(it.itemKey())
		}
	}
	pl.store.drop(p)
	return uri, entry.Err
}

// firstRoom returns the number of bytes to reserve for a plan before its size is known:
// enough for a full package, but at most a quarter of the budget.
func (pl *Planner[S]) firstRoom(unlisted bool) int64 {
	const perResource = 2 << 10 // while it is being made
	budget := pl.store.listed
	if unlisted {
		budget = pl.store.unlisted
	}
	return min(int64(pl.options.Size.Resources())*perResource, budget.limit/4)
}

// fresh returns the plan that is kept for pkg, or nil if it is not fresh. The caller
// releases it.
func (pl *Planner[S]) fresh(ctx context.Context, pkg *Package[S]) (*Plan[S], error) {
	p := pl.store.get(pkg.Path)
	var state S
	if p != nil {
		state = p.State
	}
	fresh, err := pkg.Fresh(ctx, state)
	if p != nil && !fresh {
		pl.store.release(p)
		p = nil
	}
	return p, err
}

// planIn returns the plan kept for pkg, or makes one in room and keeps it. The result has
// one user.
func (pl *Planner[S]) planIn(ctx context.Context, pkg *Package[S], room *room) (*Plan[S], error) {
	if p, err := pl.fresh(ctx, pkg); err != nil || p != nil {
		return p, err
	}
	p, unlisted, err := pl.plan(ctx, pkg, room)
	if err != nil {
		return nil, err
	}
	pl.counters.Planned.Add(1)
	p.room, p.users = room, 1
	if !unlisted {
		pl.store.keep(p)
	}
	return p, nil
}

// plan plans pkg. If content differs from its entry, the set may have changed since, and
// is listed again.
func (pl *Planner[S]) plan(ctx context.Context, pkg *Package[S], room *room) (p *Plan[S], unlisted bool, err error) {
	known := make(checksums)
	if kept := pl.store.get(pkg.Path); kept != nil {
		known = kept.checksums()
		defer pl.store.release(kept)
	}
	for attempt := 1; ; attempt++ {
		c, state, err := pkg.List(ctx)
		if err != nil {
			return nil, false, err
		}
		if err := pl.makeRoom(ctx, pkg, c, room); err != nil {
			return nil, false, err
		}
		err = pl.check(ctx, pkg, c, known)
		var p *Plan[S]
		if err == nil {
			p, err = pl.newPlan(pkg, c, state)
		}
		if err == nil {
			err = room.resize(ctx, p.memory(), 0)
		}
		if _, ok := errors.AsType[*mismatchError](err); !ok || attempt == attempts {
			return p, c.Unlisted, err
		}
		known.addStated(c.items)
	}
}

// makeRoom reserves room for the plan of c, and as much again for making it. An unlisted
// package does not wait, because it already has a place among the few of its kind. One
// that exceeds the budget is refused.
func (pl *Planner[S]) makeRoom(ctx context.Context, pkg *Package[S], c *Contents, room *room) error {
	n, wait := 2*c.memory(), pl.options.Wait
	if room.of == pl.store.unlisted {
		wait = 0
		if n > room.of.limit {
			return pkg.TooLarge()
		}
	}
	return room.resize(ctx, n, wait)
}
