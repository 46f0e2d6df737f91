package topic

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Options are the optional arguments of [NewPublisher].
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

	// Removed returns the last Framework Notification of a removed set, whose topics
	// are in the log but which has no channel any more, given the URI of its
	// Capability List; nil means none. It is sent to the hubs of the topic. The log
	// has only the URIs of hubs: a hub that no channel uses any more receives it by
	// POST, and misses it if it needs a Token or a Ping. If Removed is nil, no such
	// notifications are sent. A Source sets Removed.
	Removed func(capabilityList string) *Update

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

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.FlushChanges < 0 || out.FlushChanges > rsxml.MaxEntries {
		return out, fmt.Errorf("topic: FlushChanges %d: must be 1 to %d, or 0 for the default", out.FlushChanges, rsxml.MaxEntries)
	}
	if out.Flush < 0 || out.Framework < 0 || out.Timeout < 0 || out.Retry < 0 {
		return out, errors.New("topic: Flush, Framework, Timeout and Retry must not be negative")
	}
	out.Flush = cmp.Or(out.Flush, time.Second)
	out.FlushChanges = cmp.Or(out.FlushChanges, 1000)
	out.Framework = cmp.Or(out.Framework, time.Minute)
	out.Retain = cmp.Or(out.Retain, 14*24*time.Hour)
	out.Timeout = cmp.Or(out.Timeout, 10*time.Second)
	out.Retry = cmp.Or(out.Retry, 2*time.Second)
	if out.Client == nil {
		out.Client = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		}}
	}
	client := *out.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.Client = &client
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out, nil
}
