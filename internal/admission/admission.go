// Package admission bounds the work that requests cause, and shares it among them. Any
// client can request any range of keys. Work for ranges that no document lists is
// unlisted, and has lower priority.
package admission

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"golang.org/x/sync/semaphore"
)

// ErrBusy says that a request was not admitted in time.
var ErrBusy = errors.New("too many requests in progress")

// A Limiter bounds concurrent work of one kind. Unlisted work gets at most a quarter of
// the places, and at least one.
type Limiter struct{ all, unlisted *semaphore.Weighted }

// NewLimiter returns a Limiter with n places.
func NewLimiter(n int) Limiter {
	return Limiter{semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(1, n/4)))}
}

// TryAcquire takes a place if one is free. The caller releases it.
func (l Limiter) TryAcquire(unlisted bool) bool {
	if unlisted && !l.unlisted.TryAcquire(1) {
		return false
	}
	if l.all.TryAcquire(1) {
		return true
	}
	if unlisted {
		l.unlisted.Release(1)
	}
	return false
}

// Acquire waits for a place until ctx ends. Unlisted work first waits for one of the places
// for unlisted work, so at most a quarter of all waiting work is unlisted.
func (l Limiter) Acquire(ctx context.Context, unlisted bool) error {
	if unlisted {
		if err := l.unlisted.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	err := l.all.Acquire(ctx, 1)
	if err != nil && unlisted {
		l.unlisted.Release(1)
	}
	return err
}

// AcquireWithin waits for a place for a limited time, not at all if the limit is
// negative. Then it returns [ErrBusy].
func (l Limiter) AcquireWithin(ctx context.Context, limit time.Duration, unlisted bool) error {
	if l.TryAcquire(unlisted) {
		return nil
	}
	if limit < 0 {
		return ErrBusy
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if l.Acquire(waiting, unlisted) != nil {
		if err := ctx.Err(); err != nil {
			return err // no request is waiting
		}
		return ErrBusy
	}
	return nil
}

// Release returns a place.
func (l Limiter) Release(unlisted bool) {
	l.all.Release(1)
	if unlisted {
		l.unlisted.Release(1)
	}
}

// A Group lets requests with the same key share work.
//
// Unlike in golang.org/x/sync/singleflight, a request never joins work that began before
// the request arrived: the result could lack a change that the request must see. It waits
// for that work to end, together with all later requests, and one more call serves all of
// them. So each key has at most one running and one waiting call.
type Group struct {
	limit int // calls at the same time, waiting ones included

	// cancels means that work is cancelled when the last waiting request has left.
	// Otherwise it continues, because its result is cached for the next request.
	cancels bool

	mu      sync.Mutex
	n       int
	next    map[string]*call         // calls that have not begun: requests may join them
	running map[string]chan struct{} // closed when the call has ended
}

// A call is work that is shared.
type call struct {
	cancel  context.CancelFunc
	waiting int           // requests
	ended   chan struct{} // closed when result and err are set
	over    bool          // the same, under Group.mu
	result  any
	err     error
}

// A Job is work to be shared.
type Job struct {
	// Begin is called when no other call for the same key is running. Requests join
	// until it returns. If it fails, Work is not called.
	Begin func(context.Context) error

	// Work returns the result.
	Work func(context.Context) (any, error)

	// Share, if it is not nil, is called with the number of requests that get the result.
	Share func(result any, n int)
}

// NewGroup returns a Group with at most limit calls that run or wait. If cancels is
// true, the context of a call ends when the last request that waits for it has gone.
func NewGroup(limit int, cancels bool) *Group {
	return &Group{
		limit:   limit,
		cancels: cancels,
		next:    make(map[string]*call),
		running: make(map[string]chan struct{}),
	}
}

// Do has j done for key and returns its result, or [ErrBusy] if there are too many
// calls. The contexts of j have the values of ctx, but not its end. A panic in j
// becomes an error.
func (g *Group) Do(ctx context.Context, key string, j Job) (any, error) {
	g.mu.Lock()
	c := g.next[key]
	if c == nil {
		if g.n >= g.limit {
			g.mu.Unlock()
			return nil, ErrBusy
		}
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &call{cancel: cancel, ended: make(chan struct{})}
		g.next[key] = c
		g.n++
		go g.run(own, key, c, j)
	}
	c.waiting++
	g.mu.Unlock()
	select {
	case <-c.ended:
	case <-ctx.Done():
		if g.leave(key, c) {
			return nil, ctx.Err()
		}
	}
	return c.result, c.err
}

// leave reports whether a request has left c before its end.
func (g *Group) leave(key string, c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.over {
		return false
	}
	c.waiting--
	if c.waiting == 0 && g.cancels {
		g.close(key, c)
		c.cancel()
	}
	return true
}

// close keeps further requests from joining c. It is called with mu held.
func (g *Group) close(key string, c *call) {
	if g.next[key] == c {
		delete(g.next, key)
	}
}

func (g *Group) run(ctx context.Context, key string, c *call, j Job) {
	defer c.cancel()
	result, err := g.work(ctx, key, c, j)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close(key, c)
	g.n--
	c.result, c.err, c.over = result, err, true
	if err == nil && j.Share != nil {
		j.Share(result, c.waiting)
	}
	close(c.ended)
}

func (g *Group) work(ctx context.Context, key string, c *call, j Job) (result any, err error) {
	ended, err := g.wait(ctx, key)
	if err != nil {
		return nil, err
	}
	defer g.end(key, ended)
	err = background.Safely(func() error {
		if err := j.Begin(ctx); err != nil {
			return err
		}
		g.mu.Lock()
		g.close(key, c)
		g.mu.Unlock()
		result, err = j.Work(ctx)
		return err
	})
	return result, err
}

// wait waits until no call for key is running, and returns a channel to close when
// this one has ended.
func (g *Group) wait(ctx context.Context, key string) (chan struct{}, error) {
	ended := make(chan struct{})
	for {
		g.mu.Lock()
		before := g.running[key]
		if before == nil {
			g.running[key] = ended
			g.mu.Unlock()
			return ended, nil
		}
		g.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (g *Group) end(key string, ended chan struct{}) {
	g.mu.Lock()
	delete(g.running, key)
	g.mu.Unlock()
	close(ended)
}

const (
	// maxListed bounds the calls for listed documents that run or wait.
	maxListed = 256

	// maxUnlisted is the same for unlisted documents.
	maxUnlisted = 32
)

// Groups are a [Group] for listed and one for unlisted documents. Clients can request any
// number of the latter, so they are refused first. Their results are not kept: the work
// ends when no request waits for it.
type Groups struct{ listed, unlisted *Group }

// NewGroups returns empty Groups.
func NewGroups() Groups {
	return Groups{NewGroup(maxListed, false), NewGroup(maxUnlisted, true)}
}

// Of returns the group for listed or for unlisted documents.
func (g Groups) Of(unlisted bool) *Group {
	if unlisted {
		return g.unlisted
	}
	return g.listed
}
