package publisher

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Channel is a notification channel of a set. It is a change channel if it has a Changer,
// and a framework channel if it has Documents. It must have exactly one of them (Change
// Notification 2, Framework Notification 2).
type Channel struct {
	// Topic is the topic URI of the channel.
	Topic string

	// CapabilityList is the URI of the Capability List of the set.
	CapabilityList string

	// Hubs are the remote hubs to which notifications are sent.
	Hubs []topic.RemoteHub

	// OwnHub is the URI of the Source's own hub, which reads the log itself. It is
	// empty if there is none.
	OwnHub string

	// Changer is the journal of a change channel.
	//
	// If it is a [resourcesync.Windower], its datetimes are strictly increasing, in
	// whole microseconds, and changes are published as soon as they are read.
	// Otherwise, Settle is the time by which its changes may be out of order;
	// younger changes are not published yet. A negative Settle states that datetimes
	// never move back, and that no change with an already visible datetime is added.
	// Changes are then also published as soon as they are read.
	Changer resourcesync.Changer
	Settle  time.Duration

	// Documents are the documents of a framework channel.
	Documents Documents

	// Watcher reports when to read the Changer or the Documents. Without it, Stater
	// is polled every second, and without Stater the Changer itself. Stater must
	// describe the state of the Changer, if there is one.
	Watcher resourcesync.Watcher
	Stater  resourcesync.Stater
}

// Documents reports changes of the documents about a set: its lists and dumps, its
// Capability List and the Source Description.
type Documents interface {
	// Next returns the first update after the cursor, or nil if there is none, and
	// the new cursor. cursor is the result of an earlier call, in any process, and
	// "" when the channel begins; the Publisher then stores the new cursor even if
	// there is no update. After each update, Next is called again until it returns none.
	//
	// A cursor has at most 64 KiB. resourcesync.ErrNotReady means that nothing can
	// be reported yet. Next must be safe for concurrent use, because
	// [Publisher.Health] also calls it until the first update is published.
	Next(ctx context.Context, cursor string) (u *Update, next string, err error)
}

// An Update is the content of a Framework Notification.
type Update struct {
	// Up is the URI of the parent of the documents in Entries: the Capability List
	// or, if Entries has the Capability List itself, the Source Description
	// (Framework Notification 3). If empty, the notification has no such link.
	Up string

	// Entries have Loc and, in Metadata, Change and Capability. They may have a
	// Datetime. The entry of a document in an index has a link with the relation
	// type index. There must be at least one entry.
	Entries []rsxml.Entry
}

// A feed is the common part of the publishers of both kinds of channel. It is not safe for
// concurrent use.
type feed struct {
	*Channel
	p      *Publisher
	log    *slog.Logger
	poller *poller

	state     pushlog.State
	known     bool      // state is the current state of the topic
	published time.Time // when this process last appended a notification; zero if never
}

func newFeed(p *Publisher, c *Channel) feed {
	return feed{Channel: c, p: p, log: p.log.With("topic", sparse.RedactURI(c.Topic)), poller: newPoller(c)}
}

func (f *feed) read(ctx context.Context) (err error) {
	f.state, err = f.p.store.State(ctx, f.Topic)
	f.p.wake(f.Topic) // another process may have appended notifications
	return err
}

// append appends n, with the number of changes in it. next has the rest of the next state.
func (f *feed) append(ctx context.Context, n pushlog.Notification, next pushlog.State, changes int) error {
	n.Topic, n.CapabilityList = f.Topic, f.CapabilityList
	next.Number = f.state.Number + 1
	if err := f.p.store.Append(ctx, n, f.state, next); err != nil {
		return err
	}
	f.p.totals.Count(func(c *topic.Counters) {
		c.Notifications++
		c.Changes += uint64(changes)
	})
	f.state, f.published = next, time.Now()
	f.poller.progressed()
	f.p.wake(f.Topic)
	return nil
}

// rest returns the time to wait after an attempt with the result err. It returns errors that
// are failures.
func (f *feed) rest(err error) (time.Duration, error) {
	switch {
	case errors.Is(err, pushlog.ErrMoved):
		// The previous leader has published this: its last write has just become
		// visible.
		f.known = false
		return pause, nil
	case errors.Is(err, resourcesync.ErrNotReady):
		return pollInterval, nil
	case err != nil:
		f.known = false
		return 0, err
	}
	return f.poller.period(), nil
}

const (
	// pollInterval is the interval at which a set without a Watcher is polled, and
	// other processes try to become the leader.
	pollInterval = time.Second

	// sweep is the maximum time between two reads of a journal or of the states of documents,
	// or of the log by a sender.
	sweep = time.Minute

	// pause is the minimum time between two reads of a set that changes all the time.
	pause = 50 * time.Millisecond

	// maxRest is the maximum pause after successive failures.
	maxRest = 30 * time.Second
)

// A poller decides when to read a set.
type poller struct {
	watcher resourcesync.Watcher
	stater  resourcesync.Stater
	woken   chan struct{}
	stuck   *time.Timer   // fires when work takes too long; nil if it is not watched
	sweep   time.Duration // maximum time between reads
	pause   time.Duration // minimum time between reads

	due     bool      // there may be something to read
	since   time.Time // the last sign of that
	looked  time.Time // the last complete read
	version string    // of the set, at the last call of Stat
}

func newPoller(c *Channel) *poller {
	a := &poller{watcher: c.Watcher, stater: c.Stater, woken: make(chan struct{}, 1), sweep: sweep, pause: pause}
	if c.Documents != nil {
		a.pause = pollInterval // one notification stands for many changes
	}
	a.markDue()
	return a
}

// markDue records a sign of new changes.
func (a *poller) markDue() {
	a.due, a.since = true, time.Now()
}

// progressed records that work has published a notification, so it is not stuck.
func (a *poller) progressed() {
	if a.stuck != nil {
		a.stuck.Reset(stuckAfter)
	}
}

// poll determines whether a read is due.
func (a *poller) poll(ctx context.Context) error {
	a.due = a.due || time.Since(a.looked) >= a.sweep
	switch {
	case a.watcher != nil:
	case a.stater == nil:
		a.markDue()
	default:
		stat, err := a.stater.Stat(ctx, resourcesync.Range{})
		if err != nil {
			return err
		}
		if stat.Version != a.version || stat.Version == "" {
			a.version = stat.Version
			a.markDue()
		}
	}
	return nil
}

// period returns the time to wait for a sign before the next poll.
func (a *poller) period() time.Duration {
	if a.watcher != nil && !a.due {
		return a.sweep
	}
	return pollInterval
}

// wait waits until there is a sign, at least for the pause and for d at most.
func (a *poller) wait(ctx context.Context, d time.Duration) error {
	if err := background.Sleep(ctx, min(d, a.pause)); err != nil || d <= a.pause {
		return err
	}
	timer := time.NewTimer(d - a.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.woken:
		a.markDue()
	case <-timer.C:
	}
	return nil
}

// persist calls the named work repeatedly until ctx is done. work returns the time to wait
// before the next call. After failures the pauses grow.
func (p *Publisher) persist(ctx context.Context, name string, a *poller, work func(context.Context) (time.Duration, error)) {
	rest := pollInterval
	for ctx.Err() == nil {
		var d time.Duration
		err := background.Safely(func() (err error) {
			d, err = work(ctx)
			return err
		})
		if ctx.Err() != nil {
			return
		}
		p.report(name, err)
		if err == nil {
			rest = pollInterval
			_ = a.wait(ctx, d) // the loop checks ctx
			continue
		}
		_ = background.Sleep(ctx, rest/2+rand.N(rest/2))
		rest = min(2*rest, maxRest)
	}
}
