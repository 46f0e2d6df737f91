package topic

import (
	"log/slog"
	"net/http"
	"time"
)

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

	// Logger receives the first of successive failures, and their end. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}
