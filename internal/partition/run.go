package partition

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// pollInterval is the time after which Run checks a set even if nothing wakes it.
const pollInterval = time.Minute

// Run divides the set in the background whenever it has changed, until ctx ends.
func (d *Partitioner) Run(ctx context.Context, log *slog.Logger) {
	d.mu.Lock()
	d.running = true
	if d.wake == nil {
		d.wake = make(chan struct{}, 1)
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.running = false
	}()
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
		case <-d.wake:
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
