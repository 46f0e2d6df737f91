// Package hub is a WebSub hub (W3C Recommendation of 23 January 2018) for the
// notifications of its own ResourceSync Source. It is an http.Handler where Destinations
// subscribe, and sends each notification to each subscriber, in order and at least once,
// even if processes or subscribers fail. It reads the [topic.Log] of the
// Source; nobody can post notifications to it.
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

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
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
	counters  counters
	sparse    sparse.Log // for lines that strangers can cause
	running   atomic.Bool

	deliveries deliveries

	mu     sync.RWMutex
	topics map[string]bool
}

// counters are totals since the start of the process.
type counters struct {
	requests   atomic.Int64 // subscribe and unsubscribe, accepted for verification
	refused    atomic.Int64 // answered 4xx, except 429
	limited    atomic.Int64 // answered 429
	verified   atomic.Int64
	unverified atomic.Int64 // the subscriber did not confirm
	denied     atomic.Int64
}

// New returns the hub of the Source that publishes to log. uri is the public URI of its
// ServeHTTP, such as "https://example.org/websub/". opts may be nil.
func New(uri string, log topic.Log, opts *Options) (*Hub, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, fmt.Errorf("hub: URI: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("hub: URI %q must be absolute, like https://example.org/websub/", uri)
	case log == nil:
		return nil, errors.New("hub: the log is nil: topic.NewMemoryLog returns the simplest")
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		uri:     uri,
		store:   log,
		options: o,
		log:     o.Logger,
		guard:   &guard{allow: o.AllowCallbacks},
		topics:  map[string]bool{},
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
		if err := h.store.Expire(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("hub: expired subscriptions could not be removed; retrying in a minute", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
		}
	}
}
