package sitemap

import (
	"context"
	"sync"
)

// turns lets one goroutine at a time check a page. Otherwise a scan that has begun
// to read a public page could list it after a hint has found it private.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed at the end of the turn
}

// take waits for a turn at the page of a key. done ends it.
func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	for {
		t.mu.Lock()
		other := t.busy[key]
		if other == nil {
			break
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer t.mu.Unlock()
	mine := make(chan struct{})
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	t.busy[key] = mine
	return func() {
		t.mu.Lock()
		delete(t.busy, key)
		t.mu.Unlock()
		close(mine)
	}, nil
}
