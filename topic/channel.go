package topic

import (
	"context"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Channel is one notification channel of a set. It is a change channel if it
// has a Changer, and a framework channel if it has Documents; it has one of them,
// never both (Change Notification 2, Framework Notification 2).
type Channel struct {
	// Topic is the topic URI of the channel.
	Topic string

	// CapabilityList is the URI of the Capability List of the set.
	CapabilityList string

	// Hubs are the remote hubs that every notification is sent to.
	Hubs []Hub

	// OwnHub is the URI of the Source's own hub, which reads the log itself; ""
	// if there is none.
	OwnHub string

	// Changer is the journal that a change channel tells of.
	//
	// If it is a [resourcesync.Windower], its datetimes are strictly
	// increasing, in whole microseconds, and changes are told as soon as they
	// are seen. If it is not, Settle is how long its changes may come out of
	// order: what is younger is not told yet. A negative Settle says that its
	// datetimes never go back, and that none is used again once it has been
	// seen: then changes are told as soon as they are seen, too.
	Changer resourcesync.Changer
	Settle  time.Duration

	// Documents are what a framework channel tells of.
	Documents Documents

	// Watcher tells when to look for something new. Without it, Stater is asked
	// every second, and without that one the Changer itself. Stater describes
	// what the Changer keeps, if there is one.
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

// Documents tells what has changed among the documents about a set: its lists and
// dumps, its Capability List and the Source Description.
type Documents interface {
	// Next returns the next update since known, or nil if there is none, and
	// what is known with it. known is what it has returned with the update
	// before, by whatever process, and "" at first, when the channel begins:
	// then what is known is kept even if there is no update. Next is asked
	// again at once after each update, until there are no more.
	//
	// What is known has at most 64 KiB. resourcesync.ErrNotReady says that
	// nothing can be told yet. Next must be safe for concurrent use:
	// [Publisher.Health] calls it, too, as long as nothing has been announced.
	Next(ctx context.Context, known string) (u *Update, now string, err error)
}

// An Update is what one Framework Notification tells.
type Update struct {
	// Up is the URI of the document one level above those of Entries: the
	// Capability List, or for an update of the Capability List itself the
	// Source Description (Framework Notification 3). If empty, there is no
	// such link.
	Up string

	// Entries have Loc and, in Metadata, Change and Capability; they may have a
	// Datetime, and have a link with the relation type index if the document
	// is part of one. At least one is needed.
	Entries []rsxml.Entry
}

// A Feed serves the notifications of topics over another transport than WebSub.
type Feed interface {
	// Run sends the notifications of log until ctx ends, and then returns nil.
	Run(ctx context.Context, log Log) error

	// ServeTopic answers a request for the notifications of a topic.
	ServeTopic(w http.ResponseWriter, r *http.Request, topic string)
}
