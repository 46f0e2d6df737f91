// Package wake wakes all goroutines that wait for a change.
package wake

import (
	"context"
	"sync"
)

// A Bell wakes its listeners. The zero value is ready for use. It is safe for
// concurrent use.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// Ring wakes all listeners without waiting for them.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default: // an earlier Ring is still pending
		}
	}
}

// Listen calls wake in this goroutine: first at once, then after each Ring. Several
// Rings may lead to a single call. Listen returns the error of ctx when ctx is done.
func (b *Bell) Listen(ctx context.Context, wake func()) error {
	c := make(chan struct{}, 1)
	c <- struct{}{} // for changes before Listen
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
