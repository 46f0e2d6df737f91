package replica

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Fill implements [scan.Filler]: it reads the Source, unless Watch does, and compares the set
// with the copy. Its cost grows with the size of the copy.
func (g *Origin) Fill(ctx context.Context) (resourcesync.ScanResult, error) {
	d, done, err := g.use(ctx)
	if err != nil {
		return resourcesync.ScanResult{}, err
	}
	defer done()
	g.set.begin()
	err = g.fill(ctx, d)
	return g.set.end(), err
}

func (g *Origin) fill(ctx context.Context, d *destination.Destination) error {
	hinted := g.hinted.Swap(false)
	if hinted || !g.following.Load() {
		if err := g.note(d.Sync(ctx)); err != nil {
			return err
		}
	}
	now := g.last.Load()
	if now.err != nil {
		return g.named(now.err)
	}
	if err := g.awaitComplete(ctx, now.report); err != nil {
		return err
	}
	held, err := g.compare(ctx, d)
	if err == nil && !held && now.report.Held > 0 { // the set has published the deletions
		if err = g.note(d.DeleteHeld(ctx)); err == nil {
			_, err = g.compare(ctx, d) // some may be listed again
		}
	}
	if err != nil {
		return err
	}
	select {
	case <-g.complete:
	default:
		close(g.complete)
	}
	return nil
}

// note keeps the result of a Sync.
func (g *Origin) note(report *destination.Report, err error) error {
	g.last.Store(&outcome{report, err})
	if err != nil {
		err = g.named(err)
	}
	return err
}

// awaitComplete returns an error while a set that has not been shown lacks resources.
func (g *Origin) awaitComplete(ctx context.Context, r *destination.Report) error {
	ready, err := g.set.ready(ctx)
	if err != nil || ready || r.Failed == 0 {
		return err
	}
	if g.tried.IsZero() {
		g.tried = time.Now()
	}
	if time.Since(g.tried) >= g.patience {
		return nil
	}
	return fmt.Errorf("%w; the set is not shown before %s unless all are copied", g.failing(r), timetext.Of(g.tried.Add(g.patience)))
}

// compare makes the set equal to the copy. It reports whether the set holds deletions.
func (g *Origin) compare(ctx context.Context, d *destination.Destination) (held bool, err error) {
	result, err := g.set.stored.Scan(ctx, g.list(ctx, d))
	g.set.count(result)
	return result.Held > 0, err
}

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
