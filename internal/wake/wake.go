// Package wake tells those who wait that something may have happened.
package wake

import (
	"context"
	"sync"
)

// A Bell wakes all who listen to it. The zero value is ready. It is safe for
// concurrent use.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// Ring wakes everyone who listens. It does not wait for them.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default: // it has not come to the last one yet
		}
	}
}

// Listen calls wake from this goroutine, once to begin with and then after each
// Ring; one call may stand for several of them. It returns when ctx is done, with
// its error.
func (b *Bell) Listen(ctx context.Context, wake func()) error {
	c := make(chan struct{}, 1)
	c <- struct{}{} // for what happened before
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = map[chan struct{}]struct{}{}
	}
	b.listeners[c] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.listeners, c)
		b.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c:
			wake()
		}
	}
}
