package publisher

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// first returns the beginning of the first notification of a new channel: after the changes
// from before the Publisher was created. There cannot be earlier subscriptions.
func (c *changes) first(ctx context.Context) (time.Time, error) {
	since, err := c.since(ctx)
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
	if newest.After(c.p.made) {
		newest = c.p.made
	}
	return later(since, newest.UTC()), nil
}

// since returns the time after which the journal is complete. If the journal is not a
// Windower, that is a microsecond before its Since, which may be the datetime of its oldest
// change.
func (c *changes) since(ctx context.Context) (time.Time, error) {
	since, err := c.Changer.Since(ctx)
	if _, windows := c.Changer.(resourcesync.Windower); !windows && err == nil && !since.IsZero() {
		since = since.Add(-time.Microsecond)
	}
	return since, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// epoch is the beginning of a journal without Since: a document must have a from.
var epoch = time.Unix(0, 0).UTC()
