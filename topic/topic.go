// Package topic configures push by WebSub: the log, remote hubs, options, and the reported
// status.
//
// A set has two channels, each with its own topic URI: one for changes of its resources and
// one for changes of its documents. The Source appends their notifications to a [Log], and
// sends them to each remote hub, in order, until the hub accepts them. The subscribers of
// the Source's own hub, package topic/hub, and WebSocket clients, package topic/websocket,
// read the same log. A durable log survives restarts, and keeps notifications for hubs that
// are unavailable for days.
package topic

import (
	"context"
	"net/http"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

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

// A Feed serves the notifications of topics over a transport other than WebSub.
type Feed interface {
	// Run sends the notifications of log until ctx ends, and then returns nil.
	Run(ctx context.Context, log Log) error

	// ServeTopic answers a request for the notifications of a topic.
	ServeTopic(w http.ResponseWriter, r *http.Request, topic string)
}
