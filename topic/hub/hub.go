// Package hub is a WebSub hub (W3C Recommendation of 23 January 2018) for the
// notifications of its own ResourceSync Source. It is an http.Handler where Destinations
// subscribe, and sends each notification to each subscriber, in order and at least once,
// even if processes or subscribers fail. It reads the [topiclog.Log] of the Source, and
// does not accept notifications from others.
package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A Hub accepts subscriptions as an http.Handler at its URI, and stores them in the log of
// its Source. Run verifies subscriptions and delivers notifications; without it neither
// happens. A Hub is safe for concurrent use. The hubs of all processes that share a log
// share the work.
type Hub struct {
	uri       string
	store     pushlog.Log
	options   Options
	log       *slog.Logger
	guard     *guard
	transport http.RoundTripper // to callbacks
	sparse    sparse.Log        // for lines that strangers can cause
	running   atomic.Bool
	saveEvery time.Duration // the constant, except in tests

	failures       health.Failures // of the store
	requestTotals  health.Totals[Requests]
	deliveryTotals health.Totals[Deliveries]

	mu     sync.RWMutex
	topics map[string]bool
}

// New returns the hub of the Source that publishes to log. uri is the public URI of its
// ServeHTTP, such as "https://example.org/websub/". opts may be nil.
func New(uri string, log topiclog.Log, opts *Options) (*Hub, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, fmt.Errorf("hub: URI: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("hub: URI %q must be absolute, like https://example.org/websub/", uri)
	case pushlog.Unseal(log) == nil:
		return nil, errors.New("hub: the log is missing: topiclog.NewMemory returns the simplest")
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		uri:     uri,
		store:   pushlog.Unseal(log),
		options: o,
		log:     o.Logger,
		guard:   &guard{allow: o.AllowCallbacks},
		topics:  map[string]bool{},

		saveEvery: saveEvery,
	}
	h.transport = h.guard.transport(&o)
	return h, nil
}

// URI returns the public URI of the hub.
func (h *Hub) URI() string { return h.uri }

// Register adds topics: the hub accepts subscriptions to them. The Source registers its own
// topics.
func (h *Hub) Register(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.topics[t] = true
	}
}

// serves reports whether topic is registered. Topics are compared byte by byte.
func (h *Hub) serves(topic string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.topics[topic]
}

// Run verifies subscriptions and delivers notifications until ctx ends, and then
// returns nil. It fails if it is already running.
func (h *Hub) Run(ctx context.Context) error {
	if !h.running.CompareAndSwap(false, true) {
		return errors.New("hub: Run is already running")
	}
	defer h.running.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.verify(ctx) })
	g.Go(func() error { return h.deliver(ctx) })
	g.Go(func() error { return h.expire(ctx) })
	return g.Wait()
}

// expire removes expired subscriptions and old requests once a minute.
func (h *Hub) expire(ctx context.Context) error {
	for {
		h.stored(ctx, "removing expired subscriptions", h.store.Expire(ctx))
		if background.Sleep(ctx, time.Minute) != nil {
			return nil
		}
	}
}

// stored reports whether err, of the store, is nil. It logs the first of successive errors
// of some work, and their end.
func (h *Hub) stored(ctx context.Context, work string, err error) bool {
	if ctx.Err() == nil {
		h.failures.Log(ctx, h.log, work, err, "hub: the store fails; work stops until it works again", "hub: the store works again")
	}
	return err == nil
}

// notServed is the reason for denying a subscription to an unknown topic.
const notServed = "this hub no longer serves the topic"

// ErrNoSubscription means that no subscription has the ID.
var ErrNoSubscription = errors.New("hub: unknown subscription")

// Deny ends the subscription with this ID and notifies its subscriber, with the reason
// (WebSub 5.2). It returns after the subscription has ended and the subscriber has answered
// or failed to answer.
func (h *Hub) Deny(ctx context.Context, id int64, reason string) error {
	for s, err := range h.store.Subscriptions(ctx) {
		switch {
		case err != nil:
			return err
		case s.ID == id:
			return h.end(ctx, s, reason)
		}
	}
	return ErrNoSubscription
}

// Withdraw removes registered topics. It ends their subscriptions, of all processes, and
// notifies the subscribers, with the reason.
//
// A topic that one process has not registered keeps its subscriptions until their leases
// end, because another process may have registered it. So if several processes share a log
// and the site moves, one process calls Withdraw with the old topics once no process serves
// them. Until then, or until the leases end, their subscriptions receive nothing,
// count for limits, and cannot be renewed.
func (h *Hub) Withdraw(ctx context.Context, reason string, topics ...string) error {
	h.mu.Lock()
	for _, t := range topics {
		delete(h.topics, t)
	}
	h.mu.Unlock()
	withdrawn := make(map[string]bool, len(topics))
	for _, t := range topics {
		withdrawn[t] = !h.serves(t)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyingPerHost)
	for s, err := range h.store.Subscriptions(ctx) {
		if err != nil {
			return errors.Join(g.Wait(), err)
		}
		if withdrawn[s.Topic] {
			g.Go(func() error { return h.end(ctx, s, reason) })
		}
	}
	return g.Wait()
}

func (h *Hub) end(ctx context.Context, s pushlog.Subscription, reason string) error {
	if err := h.store.End(ctx, s.ID); err != nil {
		return err
	}
	h.deny(ctx, s.Topic, s.Callback, reason)
	return nil
}

// deny notifies a subscriber that it has no subscription. It sends one request and ignores
// the response.
func (h *Hub) deny(ctx context.Context, topic, callback, why string) {
	h.requestTotals.Count(func(n *Requests) { n.Denied++ })
	ctx, cancel := context.WithTimeout(ctx, h.options.Timeout)
	defer cancel()
	about := []slog.Attr{slog.String("callback", sparse.RedactURI(callback)), slog.String("topic", topic), slog.String("reason", why)}
	answer, err := h.ask(ctx, callback, "hub.mode=denied&hub.topic="+url.QueryEscape(topic)+"&hub.reason="+url.QueryEscape(why))
	if err != nil {
		about = append(about, slog.Any("untold", reason(err)))
	} else {
		answer.Body.Close()
	}
	h.sparse.Log(ctx, h.log, slog.LevelInfo, "hub: a subscription is denied", about...)
}
