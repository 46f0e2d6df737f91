package topic

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// first returns where the first notification of a new channel begins: after what
// had happened when the Publisher was made. Nobody can have subscribed before.
func (c *changes) first(ctx context.Context) (time.Time, error) {
	since, err := c.Changer.Since(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if since = since.UTC(); since.Before(epoch) {
		since = epoch
	}
	if c.settles {
		return later(since, c.horizon()), nil
	}
	var newest time.Time
	if c.Stater != nil {
		stat, err := c.Stater.Stat(ctx, resourcesync.Range{})
		if err != nil {
			return time.Time{}, err
		}
		if !stat.LastModified.After(time.Now()) {
			newest = stat.LastModified
		}
	}
	if newest.IsZero() {
		for change, err := range c.Changer.Changes(ctx, resourcesync.Interval{From: since}) {
			if err != nil {
				return time.Time{}, err
			}
			newest = change.Datetime
		}
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
	}
	if newest.IsZero() {
		return since, nil
	}
	if newest = c.past(newest); newest.After(c.p.made) {
		newest = c.p.made
	}
	return later(since, newest.UTC()), nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// epoch is where the journal of somebody begins who says that it has always been
// complete: a document cannot say so.
var epoch = time.Unix(0, 0).UTC()

// past returns where a notification ends whose newest change is at t.
func (c *changes) past(t time.Time) time.Time {
	if _, windows := c.Changer.(resourcesync.Windower); windows {
		return after(t)
	}
	return t.Add(1)
}
