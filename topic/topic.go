// Package topic pushes a Source's changes: it makes a WebSub topic of each
// notification channel of a set, and sends notifications to hubs, durably and in
// order (ResourceSync Change Notification 1.0.1 and Framework Notification 1.0.1).
//
// A set has two channels, each with a topic URI of its own: one for changes of
// its resources, one for changes of the documents about them. A [Publisher]
// reads what has changed, closes the interval by putting the notification into
// an [Outbox], and sends it from there to every hub until each has taken it. What
// is in the outbox survives restarts, and hubs that are down for a week.
//
// Package rshttp sets all of this up for a Source; package topic/hub is a hub of
// one's own.
package topic

import (
	"context"
	"time"
)

// A Notification is a Change Notification or a Framework Notification: a document
// and where it is sent.
type Notification struct {
	// Topic is the topic URI of the channel.
	Topic string

	// Number counts the notifications of a topic, from 1. The outbox gives it.
	Number int64

	// From and Until are the interval of a Change Notification: it tells of
	// every change with From < datetime <= Until, and its successor begins at
	// Until. Both are zero in a Framework Notification.
	From, Until time.Time

	// CapabilityList is the URI of the Capability List of the set, sent as a
	// link with the relation type resourcesync.
	CapabilityList string

	// Body is the document. Once it is in an outbox it never changes.
	Body []byte
}

// A Hub is a WebSub hub that notifications are sent to.
type Hub struct {
	// URI is the public URI of the hub: where Destinations subscribe, and where
	// notifications are posted.
	URI string

	// Submitter takes the notifications of a hub in the same process. If nil,
	// they are posted to URI.
	Submitter Submitter

	// Token is sent to hubs that want to know who publishes, as "Authorization:
	// Bearer". If empty, nothing is sent.
	Token string

	// Ping says that the hub fetches topics rather than take notifications: it
	// is sent hub.mode=publish and hub.url. Such a hub sees only the latest
	// notification of a topic, and its subscribers may miss those in between.
	Ping bool
}

// A Submitter takes notifications on behalf of a hub.
type Submitter interface {
	// Submit takes n, and returns nil once n will be delivered, whatever happens
	// to the process. The same notification may be submitted again. An error
	// means that it is to be tried again later, unless it is a [*RefusedError].
	Submit(ctx context.Context, n Notification) error
}

// A Registrar is a Submitter that takes only notifications of topics it knows.
type Registrar interface {
	// Register makes topics known. It is called before anything is submitted.
	Register(topics ...string)
}
