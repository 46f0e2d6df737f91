package replica

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/scan"
)

// turnRetry is the delay after a partial scan that was refused because a complete one is ending.
const turnRetry = 100 * time.Millisecond

// A filled is the set of an [Origin]. It counts what a Fill changes.
type filled struct {
	stored scan.Stored // nil before Bind

	mu     sync.Mutex
	counts bool // a Fill runs
	sum    resourcesync.ScanResult
}

func (f *filled) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts, f.sum = true, resourcesync.ScanResult{}
}

func (f *filled) end() resourcesync.ScanResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts = false
	return f.sum
}

// count adds the result of a scan. The numbers of unchanged and kept resources come from the last
// complete scan.
func (f *filled) count(r resourcesync.ScanResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts {
		r.Created += f.sum.Created
		r.Updated += f.sum.Updated
		r.Deleted += f.sum.Deleted
		f.sum = r
	}
}

// ready reports whether the set has been complete.
func (f *filled) ready(ctx context.Context) (bool, error) {
	_, err := f.stored.Stat(ctx, resourcesync.Range{})
	if errors.Is(err, resourcesync.ErrNotReady) {
		return false, nil
	}
	return err == nil, err
}

// Get implements entries.
func (f *filled) Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error) {
	if f.stored == nil {
		return r, false, errUnbound
	}
	known, err := f.stored.Known(ctx, []string{key})
	if err != nil {
		return r, false, err
	}
	return known[0], known[0].URI != "", nil
}

// Put implements entries.
func (f *filled) Put(ctx context.Context, resources ...resourcesync.Resource) error {
	keys := make([]string, len(resources))
	for i, r := range resources {
		keys[i] = r.Key
	}
	return f.replace(ctx, keys, resources, func() error { return f.stored.Put(ctx, resources...) })
}

// Delete implements entries. Too many deletions are held.
func (f *filled) Delete(ctx context.Context, keys ...string) error {
	return f.replace(ctx, keys, nil, func() error { return f.stored.Delete(ctx, keys...) })
}

// replace replaces the resources with these keys by a partial scan. Before the first complete
// scan, it calls first.
func (f *filled) replace(ctx context.Context, keys []string, resources []resourcesync.Resource, first func() error) error {
	ranges := make([]resourcesync.Range, len(keys))
	for i, k := range keys {
		ranges[i] = resourcesync.Range{From: k, To: k + "\x00"}
	}
	for {
		result, err := f.stored.ScanRanges(ctx, ranges, listing(resources))
		switch {
		case errors.Is(err, resourcesync.ErrNotReady):
			f.count(resourcesync.ScanResult{Created: len(resources)})
			return first()
		case !errors.Is(err, resourcesync.ErrScanning):
			f.count(result)
			return err
		}
		if err := background.Sleep(ctx, turnRetry); err != nil {
			return err
		}
	}
}

func listing(resources []resourcesync.Resource) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range resources {
			if !yield(r, nil) {
				return
			}
		}
	}
}
