// Package topic publishes the changes of a Source by WebSub: each notification channel of a
// set is a topic, and notifications are sent to hubs durably and in order (ResourceSync
// Change Notification 1.0.1 and Framework Notification 1.0.1).
//
// A set has two channels, each with its own topic URI: one for changes of its resources and
// one for changes of its documents. A [Publisher] reads the changes, appends a notification
// to a [Log], and sends it to each remote hub until the hub accepts it. The subscribers of
// the Source's own hub and WebSocket clients read the same log. A durable log survives
// restarts, and keeps notifications for hubs that are unavailable for days.
//
// Package rshttp sets this up for a Source. Package topic/hub is the Source's own hub.
package topic

import "github.com/resourcesync-go/resourcesync/internal/pushlog"

// A Log stores the notifications of a Source's topics, and the cursors of its hubs and
// subscribers. [NewMemoryLog] and the Log method of a store return one. Each Source needs a
// Log of its own.
type Log = pushlog.Log

// NewMemoryLog returns a Log in memory, for a single process.
func NewMemoryLog() Log { return pushlog.NewMemory() }

// A Hub is a remote WebSub hub to which notifications are sent.
type Hub struct {
	// URI is the public URI of the hub, at which Destinations subscribe and to which
	// notifications are posted.
	URI string

	// Token authenticates the publisher: it is sent as "Authorization: Bearer". If
	// empty, the header is not sent.
	Token string

	// Ping means that the hub fetches topics and does not accept notifications. It is
	// sent hub.mode=publish and hub.url. Such a hub sees only the latest notification
	// of a topic, and its subscribers may miss earlier ones.
	Ping bool
}
