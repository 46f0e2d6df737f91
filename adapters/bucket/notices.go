package bucket

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// maxPending is the maximum number of keys that wait. Each costs a request to the
	// store; together, as many as a complete scan of a million objects.
	maxPending = 1000

	// coalesce is the time that a notice waits for others.
	coalesce = 100 * time.Millisecond
)

// notices are keys of objects that may have changed.
type notices struct {
	mu      sync.Mutex
	pending map[string]bool
	all     bool // anything may have changed
	woken   chan struct{}
}

func newNotices() notices { return notices{pending: map[string]bool{}, woken: make(chan struct{}, 1)} }

// Changed reports that the objects with these keys may have been created, updated or
// deleted. Without keys, anything may have changed. A key that ends in a slash means all
// keys that begin with it. Changed does not block.
func (b *Bucket) Changed(keys ...string) {
	n := &b.notices
	n.mu.Lock()
	for _, key := range keys {
		n.pending[key] = true
	}
	if len(keys) == 0 || len(n.pending) > maxPending {
		n.all = true
	}
	if n.all {
		clear(n.pending)
	}
	n.mu.Unlock()
	background.Signal(n.woken)
}

// Watch implements [scan.Watcher] with the keys that Changed has reported, sorted. Keys that are reported while changed runs wait for its end.
func (b *Bucket) Watch(ctx context.Context, changed func(keys []string)) error {
	n := &b.notices
	changed(nil)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.woken:
		}
		if background.Sleep(ctx, coalesce) != nil {
			return nil
		}
		n.mu.Lock()
		var keys []string
		for key := range n.pending {
			keys = append(keys, key)
		}
		all := n.all
		n.all = false
		clear(n.pending)
		n.mu.Unlock()
		slices.Sort(keys)
		if all || len(keys) > 0 {
			changed(keys)
		}
	}
}
