// Package topic pushes a Source's changes: it makes a WebSub topic of each
// notification channel of a set, and sends notifications to hubs, durably and in
// order (ResourceSync Change Notification 1.0.1 and Framework Notification 1.0.1).
//
// A set has two channels, each with a topic URI of its own: one for changes of
// its resources, one for changes of the documents about them. A [Publisher]
// reads what has changed, closes the interval by appending the notification to a
// [Log], and sends it to every remote hub until each has taken it. The subscribers
// of the Source's own hub and WebSocket clients read the same log. It survives
// restarts, and hubs that are down for a week.
//
// Package rshttp sets all of this up for a Source; package topic/hub is the Source's
// own hub.
package topic

import "github.com/resourcesync-go/resourcesync/internal/pushlog"

// A Log keeps the notifications of a Source's topics, and how far every hub and
// every subscriber has come. [NewMemoryLog] and the Log method of a store return one.
// Each Source has one of its own.
type Log = pushlog.Log

// NewMemoryLog returns a log of one process that is lost when the process ends.
func NewMemoryLog() Log { return pushlog.NewMemory() }

// A Hub is a remote WebSub hub that notifications are sent to.
type Hub struct {
	// URI is the public URI of the hub: where Destinations subscribe, and where
	// notifications are posted.
	URI string

	// Token is sent to hubs that want to know who publishes, as "Authorization:
	// Bearer". If empty, nothing is sent.
	Token string

	// Ping says that the hub fetches topics rather than take notifications: it
	// is sent hub.mode=publish and hub.url. Such a hub sees only the latest
	// notification of a topic, and its subscribers may miss those in between.
	Ping bool
}
