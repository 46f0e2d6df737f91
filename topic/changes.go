package topic

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// changes makes the notifications of a change channel. It is used by one
// goroutine.
type changes struct {
	*Channel
	p       *Publisher
	log     *slog.Logger
	poller  *poller
	settles bool // changes may come out of order for as long as Settle

	state pushlog.State
	known bool // state is the topic's
	batch *batch
	told  time.Time // when the newest notification of this process was added, or long ago

	// assured is a moment up to which all that had happened had been read: what
	// the journal has dropped from before it was not lost.
	assured time.Time
	gap     time.Time // the end of the newest gap that was logged
	behind  bool      // it was logged that the clock has gone back
}

func newChanges(p *Publisher, c *Channel) *changes {
	_, windows := c.Changer.(resourcesync.Windower)
	return &changes{
		Channel: c,
		p:       p,
		log:     p.log.With("topic", sparse.RedactURI(c.Topic)),
		poller:  newPoller(c),
		settles: !windows && c.Settle >= 0,
		batch:   newBatch(c.CapabilityList, p.options.FlushChanges),
	}
}

// work looks for changes, tells what is to be told, and returns how long to wait
// for more.
func (c *changes) work(ctx context.Context) (time.Duration, error) {
	err := c.poller.ask(ctx)
	if err == nil {
		err = c.collect(ctx)
	}
	switch {
	case errors.Is(err, pushlog.ErrMoved):
		// Another process has told of these changes: it led before us, and
		// its last act comes to light.
		c.known = false
		return pause, nil
	case errors.Is(err, resourcesync.ErrNotReady):
		return pollInterval, nil
	case err != nil:
		c.known = false
		return 0, err
	}
	wait := c.poller.period()
	if c.batch.count > 0 {
		wait = min(wait, max(time.Millisecond, c.p.options.Flush-time.Since(c.told)))
	}
	return wait, nil
}

// collect reads what there is, and adds the notifications that are complete or
// whose time has come.
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
	quiet := time.Since(c.told) >= c.p.options.Flush
	if c.batch.count > 0 && quiet || c.batch.count >= c.batch.max {
		return c.add(ctx)
	}
	return nil
}

// load finds out where the topic stands, and begins it if it is new.
func (c *changes) load(ctx context.Context) error {
	if c.known {
		return nil
	}
	state, err := c.p.store.State(ctx, c.Topic)
	if err != nil {
		return err
	}
	if state.Equal(pushlog.State{}) {
		first, err := c.first(ctx)
		if err != nil {
			return err
		}
		if state, err = c.p.store.Begin(ctx, c.Topic, pushlog.State{Until: first}); err != nil {
			return err
		}
	}
	c.state, c.known = state, true
	c.p.wake(c.Topic) // what another process may have added is to be sent too
	c.batch.begin(state.Until)
	c.poller.ring()
	if c.Stater == nil {
		return nil
	}
	asked := time.Now()
	stat, err := c.Stater.Stat(ctx, resourcesync.Range{})
	if err != nil || stat.LastModified.IsZero() || stat.LastModified.After(state.Until) {
		return err
	}
	c.assured = asked
	if !c.settles && stat.LastModified.Before(state.Until) && asked.Before(state.Until) {
		c.warnBehind()
	}
	return nil
}

// horizon is the latest time up to which a journal that settles gets no more
// changes: a change that is Settle old now may still be uncommitted.
func (c *changes) horizon() time.Time {
	return time.Now().Add(-c.Settle).UTC().Truncate(time.Microsecond).Add(-time.Microsecond)
}

// read reads on in the journal until there is no more for now, or the batch is
// full.
func (c *changes) read(ctx context.Context) (full bool, err error) {
	b := c.batch
	mark := b.mark()
	began := time.Now()
	iv := resourcesync.Interval{From: b.seen}
	if c.settles {
		iv.Until = c.horizon()
		if !iv.Until.After(iv.From) {
			if began.Before(iv.From) {
				c.warnBehind()
			}
			return false, nil
		}
	}
	left := leftOut{}
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
	// What the journal has dropped in the meantime may be missing.
	since, err := c.since(ctx)
	if err != nil {
		return false, err
	}
	if since.After(mark.seen) && since.After(c.assured.Add(-max(c.Settle, 0)-sweep)) {
		b.back(mark)
		return c.skip(ctx, since)
	}
	if left.any() {
		b.reported = b.last
		c.p.report(c.log, "changes", &left)
	}
	if full {
		return true, nil
	}
	c.assured = began
	c.poller.looked, c.poller.due = began, c.settles && !iv.Until.After(c.poller.since)
	switch {
	case !read: // nothing is closed for nothing
	case c.settles:
		b.seen = iv.Until
	default:
		b.seen = b.last
	}
	return false, nil
}

// skip goes on at since, because the journal no longer has what was there between
// b.seen and since. What was read before is told first.
func (c *changes) skip(ctx context.Context, since time.Time) (full bool, err error) {
	b := c.batch
	if b.count > 0 {
		return true, nil // and the gap is found again after it
	}
	if since.After(c.gap) {
		c.gap = since
		c.log.LogAttrs(ctx, slog.LevelError,
			"the journal has dropped changes before they were notified: Destinations see the gap and start again from the Resource List",
			slog.Time("from", b.seen), slog.Time("until", since))
	}
	b.begin(since.UTC())
	return c.read(ctx)
}

func (c *changes) warnBehind() {
	if !c.behind {
		c.behind = true
		c.log.LogAttrs(context.Background(), slog.LevelError,
			"the clock of the journal has gone back: changes dated before what was notified last are in the Change List, but not notified",
			slog.Time("until", c.state.Until))
	}
}

// add appends the notification of the batch and begins the next one.
func (c *changes) add(ctx context.Context) error {
	b := c.batch
	n := pushlog.Notification{
		Topic:          c.Topic,
		From:           b.from,
		Until:          b.seen.UTC(),
		CapabilityList: c.CapabilityList,
		Body:           b.body(c.CapabilityList),
	}
	next := pushlog.State{Number: c.state.Number + 1, Until: n.Until, Documents: c.state.Documents}
	if err := c.p.store.Append(ctx, n, c.state, next); err != nil {
		return err
	}
	c.p.counters.notifications.Add(1)
	c.p.counters.changes.Add(uint64(b.count))
	c.state, c.told, c.behind = next, time.Now(), false
	c.poller.told()
	b.begin(next.Until)
	c.p.wake(c.Topic)
	return nil
}
