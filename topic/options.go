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

// Options configure a [Publisher]. The zero value is a reasonable default.
type Options struct {
	// Flush is the least time between Change Notifications of a topic: the
	// first change after as long a quiet is told at once, later ones are told
	// together. If zero, one second is used.
	Flush time.Duration

	// FlushChanges is how many changes one Change Notification tells at most,
	// 1 to 50,000; as soon as there are as many, they are told without
	// waiting, and more of them in a sequence of notifications. One that would
	// grow beyond 1 MiB is ended earlier. Only changes of the very same
	// datetime are never separated. If zero, 1,000 is used.
	FlushChanges int

	// Framework is the least time between Framework Notifications of a topic,
	// so that an open Change List does not flood its channel. What has changed
	// at the same time in several documents is told at the same time all the
	// same. If zero, one minute is used.
	Framework time.Duration

	// Retain is for how long a notification is kept for hubs and subscribers that
	// have not taken it, and what is known of a topic for which there is no channel any
	// more: one that comes back later begins anew. If zero, 14 days is used; if
	// negative, they are kept for as long as it takes.
	Retain time.Duration

	// Removed returns the last Framework Notification of a removed set, given its
	// Capability List, or nil for none: its topics are in the log, but it has no
	// channel any more. It is sent to the hubs of the topic. Of a hub that no channel
	// uses any more, the log only has the URI: there it is sent by POST, and a hub
	// that needs a Token or a Ping misses it. If Removed is nil, there are no such notifications. A Source
	// sets it.
	Removed func(capabilityList string) *Update

	// Timeout bounds one attempt to send a notification to a hub. If zero, 10
	// seconds is used.
	Timeout time.Duration

	// Retry is how long to wait, at most, before a notification that a hub has
	// not taken is sent again. It doubles with each failure in a row, up to one
	// hour. If zero, 2 seconds is used.
	Retry time.Duration

	// Client sends notifications. Its redirects are not followed, whatever it
	// says of them. If nil, one is used that takes proxies from the
	// environment.
	Client *http.Client

	// Logger is told of failures: of the first in a row, and of their end. If
	// nil, slog.Default() is used.
	Logger *slog.Logger
}

// withDefaults returns the options to work with, or what is wrong with o.
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
