package publisher

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
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
	Hubs []topic.Hub

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

// hubURIs returns the URIs of all hubs of c.
func (c *Channel) hubURIs() (uris []string) {
	if c.OwnHub != "" {
		uris = append(uris, c.OwnHub)
	}
	for _, h := range c.Hubs {
		uris = append(uris, h.URI)
	}
	return uris
}

// Documents reports changes of the documents about a set: its lists and dumps, its
// Capability List and the Source Description.
type Documents interface {
	// Next returns the first update after the cursor, or nil if there is none, and
	// the new cursor. cursor is the result of an earlier call, in any process, and
	// "" when the channel begins; the Publisher then stores the new cursor even if
	// there is no update. After each update, Next is called again until there are no
	// more.
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

// A feed is what the publishers of both kinds of channel have in common. It is not safe for
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

// read reads the state of the topic.
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
