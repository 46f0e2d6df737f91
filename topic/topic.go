// Package topic configures push by WebSub: remote hubs, options, and the reported status.
//
// A set has two channels, each with its own topic URI: one for changes of its resources and
// one for changes of its documents. The Source appends their notifications to a log, and
// sends them to each remote hub, in order, until the hub accepts them. The subscribers of
// the Source's own hub, package topic/hub, and WebSocket clients, package topic/websocket,
// read the same log. A durable log survives restarts, and keeps notifications for hubs that
// are unavailable for days.
package topic

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A RemoteHub is a WebSub hub of another operator, to which notifications are sent.
type RemoteHub struct {
	// URI is the public URI of the hub, at which Destinations subscribe and to which
	// notifications are posted.
	URI string

	// Token authenticates the publisher: it is sent as "Authorization: Bearer". If
	// empty, the header is not sent.
	Token string

	// Ping means that the hub fetches topics and does not accept notifications. It is
	// sent hub.mode=publish, and the topic as hub.url and, because hubs differ, as
	// hub.topic. Such a hub sees only the latest notification
	// of a topic, and its subscribers may miss earlier ones.
	Ping bool
}

// A Feed serves the notifications of topics over a transport other than WebSub. Package
// topic/websocket has the only one.
type Feed interface {
	// Run sends the notifications of log until ctx ends, and then returns nil.
	Run(ctx context.Context, log topiclog.Log) error

	// ServeTopic answers a request for the notifications of a topic.
	ServeTopic(w http.ResponseWriter, r *http.Request, topic string)

	// Clients returns the number of clients that are connected to this process.
	Clients() int
}

// Options configure how notifications are made and sent.
type Options struct {
	// Flush is the minimum time between Change Notifications of a topic. The first
	// change after such a time without changes is published at once, later ones
	// together. If zero, one second is used.
	Flush time.Duration

	// FlushChanges is the maximum number of changes in a Change Notification, 1 to
	// 50,000. That many changes are published without waiting, and more in a sequence
	// of notifications. A notification also ends before it exceeds 1 MiB. Changes
	// with the same datetime are never separated. If zero, 1,000 is used.
	FlushChanges int

	// Framework is the minimum time between Framework Notifications of a topic, so
	// that an open Change List does not flood its channel. Simultaneous changes of
	// several documents are still published together. If zero, one minute is used.
	Framework time.Duration

	// DumpInterval is the minimum time between two Framework Notifications of a
	// changed Resource Dump. A dump changes whenever its set does, and Destinations
	// can only fetch all of it again. If zero, 24 hours is used.
	DumpInterval time.Duration

	// Retain is the time for which a notification is kept for hubs and subscribers
	// that have not accepted it, and for which a topic without a channel is kept. A
	// channel that returns later starts again. If zero, 14 days is used; if negative,
	// both are kept without limit.
	Retain time.Duration

	// Timeout is the time limit of one attempt to send a notification to a hub. If
	// zero, 10 seconds is used.
	Timeout time.Duration

	// Retry is the maximum time before the first retry of a failed attempt. It
	// doubles with each successive failure, up to one hour. If zero, 2 seconds is
	// used.
	Retry time.Duration

	// Client sends notifications. It never follows redirects; its CheckRedirect is
	// ignored. If nil, a client that uses the proxies of the environment is used.
	Client *http.Client

	// Tracer records a span for each attempt to send a notification, and can add header
	// fields that identify it. If nil, nothing is traced.
	Tracer resourcesync.Tracer

	// Logger receives the first of successive failures, and their end. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// A Status is the progress of the channels of a Source and their hubs. It contains no
// queries of URIs, and can be served as JSON.
type Status struct {
	Topics   []TopicStatus `json:"topics"`
	Counters Counters      `json:"counters"`
}

// A TopicStatus is the progress of a channel.
type TopicStatus struct {
	Set        string                  `json:"set,omitzero"`
	Capability resourcesync.Capability `json:"capability"`

	Topic  string      `json:"topic"`
	Newest int64       `json:"newest"`         // number of the newest notification, 0 before the first
	Until  time.Time   `json:"until,omitzero"` // for a change channel, the beginning of the next notification
	Error  string      `json:"error,omitzero"` // prevents this process from publishing
	Hubs   []HubStatus `json:"hubs"`
}

// A HubStatus is the progress of a hub on a topic.
type HubStatus struct {
	Hub          string    `json:"hub"`
	Taken        int64     `json:"taken"`
	Behind       int64     `json:"behind"`
	Failures     int       `json:"failures"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	LastError    string    `json:"lastError,omitzero"`
	NextAttempt  time.Time `json:"nextAttempt,omitzero"`
	Refused      int64     `json:"refused"`
	LastRefused  int64     `json:"lastRefused,omitzero"`
	RefusedError string    `json:"refusedError,omitzero"`
	Lost         int64     `json:"lost"`
}

// Counters are totals since the process was started. They can be served as JSON.
type Counters struct {
	Notifications uint64 `json:"notifications"` // appended to the log
	Changes       uint64 `json:"changes"`       // changes in these notifications
	LeftOut       uint64 `json:"leftOut"`       // changes and documents omitted because of invalid URIs
	Dropped       uint64 `json:"droppedFields"` // fields omitted because a document cannot hold their values
	Taken         uint64 `json:"taken"`         // notifications accepted by a hub
	Failures      uint64 `json:"failures"`      // failed attempts to send a notification
	Refused       uint64 `json:"refused"`       // notifications permanently refused by a hub
	Lost          uint64 `json:"lost"`          // notifications dropped by retention before a hub or subscriber accepted them, counted for each
}
