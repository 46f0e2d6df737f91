package hub

import (
	"context"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// save saves progress, renews claims, releases idle ones, and ends subscriptions whose
// callback is gone (410). It reports whether it has released any: there is room for others,
// and the released ones may have new messages.
func (d *deliverer) save(ctx context.Context) (released bool) {
	now := time.Now()
	var batch []pushlog.Progress
	d.mu.Lock()
	for _, c := range d.claims {
		if c.lost || !c.unsaved && c.state != idle && now.Sub(c.renewed) < renewEvery {
			continue
		}
		p := c.sub.Progress
		if c.state == idle {
			c.state, p.Release = releasing, true
			released = true
		}
		c.unsaved = false
		batch = append(batch, p)
	}
	d.mu.Unlock()
	for len(batch) > 0 {
		n := min(len(batch), saveBatch)
		lost, err := d.store.Save(ctx, d.owner, batch[:n])
		d.trouble(ctx, err)
		d.saved(batch[:n], lost, now, err)
		batch = batch[n:]
	}
	return released
}

// saved processes the result of a save.
func (d *deliverer) saved(batch []pushlog.Progress, lost []int64, now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range lost {
		if c := d.claims[id]; c != nil && c.state == sending {
			c.lost = true
			c.cancel()
		} else if c != nil {
			d.forget(c)
		}
	}
	for _, p := range batch {
		c := d.claims[p.ID]
		switch {
		case c == nil || c.lost:
		case err != nil:
			c.unsaved = true
			if c.state == releasing {
				c.state = idle
			}
		case c.state == releasing:
			if p.End {
				d.counters.ended.Add(1)
				d.sparse.Log(context.Background(), d.log, slog.LevelInfo, "hub: the callback is gone (410); the subscription has ended",
					slog.Int64("subscription", p.ID), slog.String("callback", sparse.RedactURI(c.sub.Callback)), slog.String("topic", c.sub.Topic))
			}
			d.forget(c)
		default:
			c.renewed = now
		}
	}
	if err == nil && d.idle >= claimBatch {
		background.Signal(d.crowded)
	}
}

// trouble reports whether err is not nil, and logs the first error until the store works
// again.
func (d *deliverer) trouble(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return err != nil
	}
	d.mu.Lock()
	changed := d.broken != (err != nil)
	d.broken = err != nil
	d.mu.Unlock()
	switch {
	case changed && err != nil:
		d.log.Error("hub: the store fails; deliveries stop until it works again", "error", err)
	case changed:
		d.log.Info("hub: the store works again")
	}
	return err != nil
}

// stop waits for running attempts, for stopTime at most, and releases all claims.
func (d *deliverer) stop(ctx context.Context) {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		d.workers.Wait()
		close(ended)
	}()
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		d.mu.Lock()
		for _, c := range d.claims {
			if c.state == sending {
				c.cancel()
			}
		}
		d.mu.Unlock()
		<-ended
	}
	d.mu.Lock()
	for _, c := range d.claims {
		if !c.lost && c.state == waiting {
			d.rest(c)
		}
	}
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	d.save(ctx)
}
