package publisher

import (
	"context"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// changes publishes the notifications of a change channel.
type changes struct {
	feed
	settles bool // changes may be out of order by up to Settle
	batch   *batch

	// assured is a time up to which all changes have been read. If the journal drops
	// changes from before it, none are lost.
	assured time.Time
	gap     time.Time // the end of the newest gap that was logged
	behind  bool      // it was logged that the clock was set back
}

func newChanges(f feed) *changes {
	_, windows := f.Changer.(resourcesync.Windower)
	return &changes{feed: f, settles: !windows && f.Settle >= 0, batch: newBatch(f.CapabilityList, f.p.options.FlushChanges)}
}

// work reads changes, publishes those that are due, and returns the time to wait before the
// next call.
func (c *changes) work(ctx context.Context) (time.Duration, error) {
	err := c.poller.poll(ctx)
	if err == nil {
		err = c.collect(ctx)
	}
	wait, failure := c.rest(err)
	if err == nil && c.batch.count > 0 {
		wait = min(wait, max(time.Millisecond, c.p.options.Flush-time.Since(c.published)))
	}
	return wait, failure
}

// collect reads the journal, and appends the notifications that are complete or due.
func (c *changes) collect(ctx context.Context) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	for c.poller.due {
		full, err := c.read(ctx)
		if err != nil {
			return err
		}
		if !full {
			break
		}
		if err := c.add(ctx); err != nil {
			return err
		}
	}
	quiet := time.Since(c.published) >= c.p.options.Flush
	if c.batch.count > 0 && quiet || c.batch.count >= c.batch.max {
		return c.add(ctx)
	}
	return nil
}

// load reads the state of the topic, and begins a new topic.
func (c *changes) load(ctx context.Context) error {
	if c.known {
		return nil
	}
	if err := c.feed.read(ctx); err != nil {
		return err
	}
	if c.state.Equal(pushlog.State{}) {
		first, err := c.first(ctx)
		if err != nil {
			return err
		}
		if c.state, err = c.p.store.Begin(ctx, c.Topic, pushlog.State{Until: first}); err != nil {
			return err
		}
	}
	c.known = true
	c.batch.begin(c.state.Until)
	c.poller.markDue()
	if c.Stater == nil {
		return nil
	}
	asked := time.Now()
	stat, err := c.Stater.Stat(ctx, resourcesync.Range{})
	if err != nil || stat.LastModified.IsZero() || stat.LastModified.After(c.state.Until) {
		return err
	}
	c.assured = asked
	if !c.settles && stat.LastModified.Before(c.state.Until) && asked.Before(c.state.Until) {
		c.warnBehind()
	}
	return nil
}

// horizon returns the time up to which a journal that settles is complete at a time: a change
// younger than Settle may still be uncommitted.
func (c *changes) horizon(at time.Time) time.Time {
	return at.Add(-c.Settle).UTC().Truncate(time.Microsecond).Add(-time.Microsecond)
}

// read reads the journal until its end, or until the batch is full.
func (c *changes) read(ctx context.Context) (full bool, err error) {
	b := c.batch
	before := *b
	defer func() {
		if err != nil {
			*b = before // the next read begins where this one did
		}
	}()
	began := time.Now()
	iv := resourcesync.Interval{From: b.seen}
	if c.settles {
		iv.Until = c.horizon(time.Now())
		if !iv.Until.After(iv.From) {
			if began.Before(iv.From) {
				c.warnBehind()
			}
			return false, nil
		}
	}
	left := omissions{}
	read := false
	for change, err := range c.Changer.Changes(ctx, iv) {
		if err != nil {
			return false, err
		}
		ok, err := b.add(&change, &left)
		if err != nil {
			return false, err
		}
		if full = !ok; full {
			break
		}
		read = true
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	// The journal may have dropped changes before they were read.
	since, err := c.since(ctx)
	if err != nil {
		return false, err
	}
	if since.After(before.seen) && since.After(c.assured.Add(-max(c.Settle, 0)-sweep)) {
		*b = before
		return c.skip(ctx, since)
	}
	if left.any() {
		b.reported = b.last
		c.p.omit(c.log, "changes", &left)
	}
	if full {
		return true, nil
	}
	c.assured = began
	c.poller.looked, c.poller.due = began, c.settles && !iv.Until.After(c.poller.since)
	switch {
	case !read: // an empty interval is not closed
	case c.settles:
		b.seen = iv.Until
	default:
		b.seen = b.last
	}
	return false, nil
}

// skip continues at since, because the journal no longer has the changes between b.seen and
// since. It first publishes the changes in the batch.
func (c *changes) skip(ctx context.Context, since time.Time) (full bool, err error) {
	b := c.batch
	if b.count > 0 {
		return true, nil // the next read finds the gap again
	}
	if since.After(c.gap) {
		c.gap = since
		c.log.LogAttrs(ctx, slog.LevelWarn,
			"the journal begins after the newest notification, because it has started over or retention has dropped changes: Destinations see the gap and start again from the Resource List",
			slog.Time("from", b.seen), slog.Time("until", since))
	}
	b.begin(since.UTC())
	return c.read(ctx)
}

func (c *changes) warnBehind() {
	if !c.behind {
		c.behind = true
		c.log.LogAttrs(context.Background(), slog.LevelError,
			"the clock of the journal was set back: changes dated before the newest notification are in the Change List, but not notified",
			slog.Time("until", c.state.Until))
	}
}

// add appends the notification of the batch and begins the next one.
func (c *changes) add(ctx context.Context) error {
	b := c.batch
	n := pushlog.Notification{From: b.from, Until: b.seen.UTC(), Body: b.body(c.CapabilityList)}
	if err := c.append(ctx, n, pushlog.State{Until: n.Until, Documents: c.state.Documents}, b.count); err != nil {
		return err
	}
	c.behind = false
	b.begin(n.Until)
	return nil
}

// first returns the beginning of the first notification of a new channel: after the changes
// from before the Publisher was created. There cannot be earlier subscriptions.
func (c *changes) first(ctx context.Context) (time.Time, error) {
	since, err := c.since(ctx)
	if err != nil {
		return time.Time{}, err
	}
	since = later(since.UTC(), epoch)
	if c.settles {
		return later(since, c.horizon(c.p.made)), nil
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
