package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// work sends messages until no claim is left.
func (d *deliverer) work() {
	for {
		c, ctx := d.next()
		if c == nil {
			return
		}
		began := time.Now()
		m, err := d.cache.Next(ctx, c.sub.Topic, max(c.sub.Progress.Taken, c.refused), c.lane == doubtful)
		if m == nil {
			d.passed(ctx, c, err)
			continue
		}
		a := d.send(ctx, c, m)
		d.cache.Put(m)
		given := errors.Is(ctx.Err(), context.Canceled)
		c.cancel()
		d.settle(c, m, a, began, given)
	}
}

// next returns the next claim to send to, with its context. If there is none, the worker
// ends.
func (d *deliverer) next() (*claim, context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.stopping {
		now := time.Now()
		c := d.queue.take(now)
		if c == nil {
			break
		}
		switch {
		case c.lost:
			d.queue.done(c, now, 0)
		case now.Sub(c.renewed) > pushlog.ClaimTime-claimMargin, !c.sub.Expires.After(now):
			d.queue.done(c, now, 0)
			d.rest(c)
		default:
			ctx, cancel := context.WithTimeout(context.Background(), d.hub.options.Timeout)
			c.cancel = cancel
			return c, ctx
		}
	}
	d.working--
	return nil, nil
}

// passed records that nothing was sent to c: there is no message, or err prevented loading
// it.
func (d *deliverer) passed(ctx context.Context, c *claim, err error) {
	if err != nil && !errors.Is(err, outgoing.ErrFull) {
		d.hub.stored(ctx, "delivering", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c.cancel() // before another worker takes c, with another context
	d.queue.done(c, time.Now(), 0)
	if err != nil && !c.lost {
		d.postpone(c, time.Second)
		return
	}
	d.release(c)
}

// release ends the work on c for now. If c is lost, it continues with its new claim, if any.
func (d *deliverer) release(c *claim) {
	if !c.lost {
		d.rest(c)
		return
	}
	delete(d.claims, c.sub.ID)
	if c.again == nil {
		return
	}
	if c.sub.Progress.Taken > c.again.sub.Progress.Taken {
		c.again.sub.Progress, c.again.unsaved = c.sub.Progress, true
	}
	d.claims[c.sub.ID] = c.again
	d.enqueue(c.again)
}

// settle processes the result of an attempt. An attempt that the hub has interrupted is not
// a failure of the callback. If the callback is gone (410), the next save ends the
// subscription, unless it has changed by then.
func (d *deliverer) settle(c *claim, m *outgoing.Message, a attempt, began time.Time, given bool) {
	now := time.Now()
	wrong := d.failure(a)
	current := wrong == "" && d.cache.UpToDate(c.sub.Topic, m.Number)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.done(c, now, now.Sub(began))
	if given && wrong != "" {
		d.release(c)
		return
	}
	p := &c.sub.Progress
	d.hub.deliveryTotals.Count(func(n *Deliveries) {
		n.count(a.status)
		if p.Failures > 0 && c.refused == 0 {
			n.Retried++
		}
	})
	c.unsaved = true
	switch {
	case a.status == http.StatusGone:
		p.End = !c.lost
	case wrong == "":
		if c.refused != 0 {
			d.giveUp(c, c.refused, "hub: a message is set aside: its subscriber refuses it, but has accepted the next one; the Change List has its changes", d.about(c, c.refused))
		}
		p.Pass(m.Number)
		p.Delivered++
		p.LastDelivered = now
	case c.refused != 0: // nothing is skipped
	default:
		d.failed(c, m, a, wrong, now)
		if !p.RefusedSince.IsZero() && now.Sub(p.RefusedSince) >= refusedTime && !c.lost {
			c.refused = m.Number
			d.enqueue(c)
			return
		}
	}
	c.refused = 0
	if c.lost || current || p.Failures > 0 || p.End {
		d.release(c)
		return
	}
	d.enqueue(c)
}

func (d *deliverer) about(c *claim, number int64) []slog.Attr {
	return []slog.Attr{slog.Int64("subscription", c.sub.ID), slog.String("callback", sparse.RedactURI(c.sub.Callback)), slog.String("topic", c.sub.Topic), slog.Int64("message", number)}
}

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
		lost, err := d.hub.store.Save(ctx, d.owner, batch[:n])
		d.hub.stored(ctx, "delivering", err)
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
				d.hub.deliveryTotals.Count(func(n *Deliveries) { n.Ended++ })
				d.hub.sparse.Log(context.Background(), d.hub.log, slog.LevelInfo, "hub: the callback is gone (410); the subscription has ended",
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

// stop waits for running attempts, for stopTime at most, and releases all claims.
func (d *deliverer) stop(ctx context.Context) {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	timer := time.AfterFunc(stopTime, func() { d.interrupt(time.Now()) })
	d.workers.Wait()
	timer.Stop()
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

// interrupt ends the running attempts whose claims were last renewed before a time.
func (d *deliverer) interrupt(before time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.claims {
		if c.state == sending && c.renewed.Before(before) {
			c.cancel()
		}
	}
}
