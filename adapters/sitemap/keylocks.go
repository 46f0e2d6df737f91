package sitemap

import (
	"context"
	"sync"
)

// keyLocks is a lock for each key, so that one goroutine at a time checks a page.
// Otherwise a scan that has begun to read a public page could list it after a hint has
// found it private.
type keyLocks struct {
	mu     sync.Mutex
	locked map[string]chan struct{} // closed by unlock
}

// lock waits until the key is unlocked or ctx is done, and locks it.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		other := l.locked[key]
		if other == nil {
			break
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer l.mu.Unlock()
	mine := make(chan struct{})
	if l.locked == nil {
		l.locked = map[string]chan struct{}{}
	}
	l.locked[key] = mine
	return func() {
		l.mu.Lock()
		delete(l.locked, key)
		l.mu.Unlock()
		close(mine)
	}, nil
}
