package admission

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

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

	// Share, if it is not nil, is told how many requests get the result.
	Share func(result any, n int)
}

// NewGroup returns a Group with at most limit calls that run or wait. If cancels is
// true, the context of a call ends when no request waits for it any more.
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

// close lets no more requests join c. It is called with mu held.
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

func (g *Group) work(ctx context.Context, key string, c *call, j Job) (_ any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ended, err := g.wait(ctx, key)
	if err != nil {
		return nil, err
	}
	defer g.end(key, ended)
	if err := j.Begin(ctx); err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.close(key, c)
	g.mu.Unlock()
	return j.Work(ctx)
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
// ends when nobody waits for it.
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
