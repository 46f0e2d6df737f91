package partition

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// RestRatio limits the work on a set that keeps changing to a tenth of one core: the
// pause after a division is RestRatio times as long as the division took.
const RestRatio = 9

// A Partitioner keeps the partition of a set. Its fields are set before its first use,
// and its methods are safe for concurrent use.
type Partitioner struct {
	// Set is the name of the set, and Into says what it is divided into: pages or
	// packages. Both are for errors and logs.
	Set, Into string

	// Stater is the Stater of the set. It may be nil.
	Stater resourcesync.Stater

	// Cut divides the set, keeping of the previous cuts what still fits.
	Cut func(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error)

	// Dated states that Cut sets Newest, and that Newest takes deletions into
	// account. Otherwise the times come from Stater.
	Dated bool

	// Group, if it is not nil, divides the ranges of p into the documents that list
	// them, keeping of previous, which may be nil, what still fits.
	Group func(ctx context.Context, p, previous *Partition) ([]resourcesync.Cut, error)

	// Lazy makes Run wait for the first call of Get before it divides the set.
	Lazy bool

	// Divided rings when the current partition has changed.
	Divided background.Bell

	once singleflight.Group

	mu      sync.Mutex
	current *Partition
	learned []string      // cuts that only rendering could find, in order
	due     bool          // known to be out of date, with any version
	wake    chan struct{} // wakes Run; nil if it is not running
}

// Current returns the current partition, or nil if there is none yet.
func (d *Partitioner) Current() *Partition {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current
}

// Lists reports whether r is one of the ranges of the current partition.
func (d *Partitioner) Lists(r resourcesync.Range) bool {
	p := d.Current()
	return p != nil && p.Has(r)
}

// Get returns the partition of the set. It waits for one only if there is none yet, or
// if [Partitioner.Run] is not running and the set has changed. Only [Partitioner.Renew]
// and Run divide a set of one range again.
func (d *Partitioner) Get(ctx context.Context) (*Partition, error) {
	d.mu.Lock()
	p, due, running := d.current, d.due, d.wake != nil
	d.mu.Unlock()
	if p == nil {
		return d.Renew(ctx, nil)
	}
	if len(p.Cuts) == 1 {
		return p, nil
	}
	if !due {
		if same, err := d.same(ctx, p); err != nil || same {
			return p, err
		}
	}
	switch {
	case running:
		d.Invalidate()
		return p, nil
	case time.Since(p.done) < RestRatio*p.took:
		return p, nil
	}
	return d.Renew(ctx, p)
}

// same reports whether the set is known to be unchanged since p was made.
func (d *Partitioner) same(ctx context.Context, p *Partition) (bool, error) {
	if d.Stater == nil || p.Version == "" {
		return false, nil
	}
	stat, err := d.Stater.Stat(ctx, Whole)
	return err == nil && stat.Version == p.Version, err
}

// Renew divides the set, unless the current partition is newer than old. The division
// continues when ctx ends, because its result is kept for the next request.
func (d *Partitioner) Renew(ctx context.Context, old *Partition) (*Partition, error) {
	return d.share(ctx, old, func() (*Partition, error) { return d.divide(context.WithoutCancel(ctx)) })
}

// share calls divide once for all concurrent callers that need a newer partition than
// old.
func (d *Partitioner) share(ctx context.Context, old *Partition, divide func() (*Partition, error)) (*Partition, error) {
	for {
		done := d.once.DoChan("", func() (p any, err error) {
			err = background.Safely(func() (err error) {
				if now := d.Current(); now != old {
					p = now
					return nil
				}
				p, err = divide()
				return err
			})
			return p, err
		})
		select {
		case r := <-done:
			if p, _ := r.Val.(*Partition); p != old || r.Err != nil { // otherwise the shared call was about to end with old
				return p, r.Err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Await waits for the first partition, for limit at most.
func (d *Partitioner) Await(ctx context.Context, limit time.Duration) {
	if d.Current() != nil || limit < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, _ = d.Renew(ctx, nil) // the next call of Get returns the error
}

// Invalidate marks the partition as out of date.
func (d *Partitioner) Invalidate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = true
	background.Signal(d.wake)
}

// Wake makes Run check the set now.
func (d *Partitioner) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	background.Signal(d.wake)
}

// Split divides the range r before key, the first key that does not fit into a document.
// The next index lists both parts, and the set is divided again soon. If learn is true,
// later partitions keep this cut: a Cutter that counts resources cannot find it. Split
// ignores a range that is not in the partition, because clients can request any range.
func (d *Partitioner) Split(r resourcesync.Range, key string, learn bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || key == r.From || len(d.learned) >= rsxml.MaxEntries || !d.current.Has(r) {
		return
	}
	d.due = true
	background.Signal(d.wake)
	if i, found := slices.BinarySearch(d.learned, key); learn && !found {
		d.learned = slices.Insert(d.learned, i, key)
	}
	p := *d.current
	p.Number++
	p.Cuts = withLearned(p.Cuts, []string{key})
	p.noteSplits(d.current)
	d.current = &p
	d.Divided.Ring()
}

// pollInterval is the time after which Run checks a set even if nothing wakes it.
const pollInterval = time.Minute

// Run divides the set in the background whenever it has changed, until ctx ends.
func (d *Partitioner) Run(ctx context.Context, log *slog.Logger) {
	wake := make(chan struct{}, 1)
	setWake := func(to chan struct{}) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.wake = to
	}
	setWake(wake)
	defer setWake(nil)
	for {
		var p *Partition
		err := background.Safely(func() (err error) {
			p, err = d.refresh(ctx)
			return err
		})
		rest := time.Second
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, resourcesync.ErrNotReady):
			log.Warn("set not divided into "+d.Into, "set", d.Set, "error", err)
			rest = 10 * time.Second
		case p != nil:
			rest = max(rest, RestRatio*p.took)
		}
		if background.Sleep(ctx, rest) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(pollInterval + rand.N(pollInterval/10)):
		}
	}
}

// refresh divides the set if it has changed since it was divided last. Work that begins
// here ends with ctx, before refresh returns.
func (d *Partitioner) refresh(ctx context.Context) (*Partition, error) {
	d.mu.Lock()
	p, due := d.current, d.due
	d.mu.Unlock()
	if p == nil && d.Lazy {
		return nil, nil
	}
	if p != nil && !due && d.Stater != nil {
		if same, err := d.same(ctx, p); err != nil || same {
			return nil, err
		}
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	p, err := d.share(ctx, p, func() (*Partition, error) {
		close(begun)
		defer close(ended)
		return d.divide(ctx)
	})
	select {
	case <-begun:
		<-ended
	default:
	}
	return p, err
}
