package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// work sends messages until there are no more claims for it.
func (d *deliverer) work() {
	for {
		c, ctx := d.next()
		if c == nil {
			return
		}
		began := time.Now()
		m, err := d.cache.next(ctx, c.sub.Topic, c.sub.Progress.Taken, c.lane == doubtful)
		if m == nil {
			d.passed(ctx, c, err)
			continue
		}
		a := d.send(ctx, c, m)
		d.cache.put(m)
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
			ctx, cancel := context.WithTimeout(context.Background(), d.options.Timeout)
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
	if err != nil && !errors.Is(err, errFull) {
		d.trouble(ctx, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c.cancel() // before another worker takes c, with a context of its own
	d.queue.done(c, time.Now(), 0)
	switch {
	case c.lost:
		d.replace(c)
	case err != nil:
		d.postpone(c, time.Second)
	default:
		d.rest(c)
	}
}

// replace drops c, which is lost, and continues with its new claim, if any.
func (d *deliverer) replace(c *claim) {
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
func (d *deliverer) settle(c *claim, m *message, a attempt, began time.Time, given bool) {
	now := time.Now()
	wrong := d.failure(a)
	current := wrong == "" && d.cache.upToDate(c.sub.Topic, m.Number)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.done(c, now, now.Sub(began))
	if given && wrong != "" {
		if c.lost {
			d.replace(c)
		} else {
			d.rest(c)
		}
		return
	}
	d.counters.count(a.status)
	p := &c.sub.Progress
	if p.Failures > 0 {
		d.counters.retried.Add(1)
	}
	c.unsaved = true
	switch {
	case a.status == http.StatusGone:
		p.End = !c.lost
	case wrong == "":
		p.Pass(m.Number)
		p.Delivered++
	default:
		d.failed(c, m, a, wrong, now)
	}
	switch {
	case c.lost:
		d.replace(c)
	case current || p.Failures > 0 || p.End:
		d.rest(c)
	default:
		d.enqueue(c)
	}
}

// maxRetry is the maximum time between two attempts.
const maxRetry = 6 * time.Hour

// failed records a failure, and gives m up after GiveUp.
func (d *deliverer) failed(c *claim, m *message, a attempt, wrong string, now time.Time) {
	p := &c.sub.Progress
	p.Fail(now, wrong, retry.Policy{First: d.options.Retry, Max: maxRetry}.Asked(a.after))
	about := append(d.about(c, m), slog.Int("failures", p.Failures), slog.String("error", wrong))
	if now.Sub(p.FailingSince) >= d.options.GiveUp {
		p.Pass(m.Number)
		p.GivenUp, p.LastGivenUp, p.LastError = p.GivenUp+1, m.Number, wrong
		d.counters.givenUp.Add(1)
		d.sparse.Log(context.Background(), d.log, slog.LevelWarn, "hub: a message is given up; the Change List has its changes", about...)
		return
	}
	about = append(about, slog.Time("next", p.Retry))
	if p.Failures == 1 {
		d.sparse.Log(context.Background(), d.log, slog.LevelInfo, "hub: a delivery has failed", about...)
	} else {
		d.log.LogAttrs(context.Background(), slog.LevelDebug, "hub: a delivery has failed again", about...)
	}
}

func (d *deliverer) about(c *claim, m *message) []slog.Attr {
	return []slog.Attr{slog.Int64("subscription", c.sub.ID), slog.String("callback", sparse.RedactURI(c.sub.Callback)), slog.String("topic", m.Topic), slog.Int64("message", m.Number)}
}
