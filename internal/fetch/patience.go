package fetch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Patience is the time for which the requests of a run may wait because of single resources. A
// request whose context has a Patience for a resource that answers 503 with Retry-After is not
// repeated: its caller comes back to the resource. It is safe for concurrent use.
type Patience struct {
	mu    sync.Mutex
	left  time.Duration
	until time.Time // has been allowed
}

// NewPatience returns a Patience for a time.
func NewPatience(d time.Duration) *Patience { return &Patience{left: d} }

type patienceKey struct{}

// WithPatience returns a context for requests with a Patience.
func WithPatience(ctx context.Context, p *Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

func patienceOf(ctx context.Context) *Patience {
	p, _ := ctx.Value(patienceKey{}).(*Patience)
	return p
}

// Allow reports whether a run may wait until a time. Waits at the same time count once.
func (p *Patience) Allow(until time.Time) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from := time.Now()
	if p.until.After(from) {
		from = p.until
	}
	more := until.Sub(from)
	if more > p.left {
		return false
	}
	if more > 0 {
		p.left, p.until = p.left-more, until
	}
	return true
}

// Left returns the time until which a run may wait.
func (p *Patience) Left() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.After(time.Now()) {
		return p.until.Add(p.left)
	}
	return time.Now().Add(p.left)
}

// Waits adds up the time that requests wait for the limits and pauses of hosts. It is safe for
// concurrent use.
type Waits struct{ total atomic.Int64 }

// Total returns the sum.
func (w *Waits) Total() time.Duration { return time.Duration(w.total.Load()) }

type waitsKey struct{}

// WithWaits returns a context for requests whose waits are added up.
func WithWaits(ctx context.Context, w *Waits) context.Context {
	return context.WithValue(ctx, waitsKey{}, w)
}

// waited adds the time since begun to the waits of ctx.
func waited(ctx context.Context, begun time.Time) {
	if w, ok := ctx.Value(waitsKey{}).(*Waits); ok {
		w.total.Add(int64(time.Since(begun)))
	}
}
