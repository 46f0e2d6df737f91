// Package hub is a WebSub hub (W3C Recommendation of 23 January 2018) for the
// notifications of a ResourceSync Source: an http.Handler where Destinations
// subscribe, and a deliverer that brings every message to every subscriber, in
// order and at least once, whatever happens to processes or subscribers.
package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Hub takes subscriptions, as an http.Handler at its URI, and messages, as a
// [topic.Submitter]; what it has taken it keeps in a [Store]. Run verifies
// subscriptions and delivers messages: nothing of either happens without it. A Hub
// is safe for concurrent use, and any number of them can share a Store if the
// Store is that of several processes.
type Hub struct {
	uri       string
	store     Store
	options   Options
	log       *slog.Logger
	guard     *guard
	transport http.RoundTripper // to callbacks
	counters  counters
	sparse    sparse.Log // of what strangers can cause
	running   atomic.Bool

	deliveries deliveries

	mu     sync.RWMutex
	topics map[string]bool
}

// counters count since the start of the process.
type counters struct {
	requests   atomic.Int64 // subscribe and unsubscribe, accepted for verification
	refused    atomic.Int64 // answered 4xx, but for limits
	limited    atomic.Int64 // answered 429
	verified   atomic.Int64
	unverified atomic.Int64 // the subscriber did not confirm
	denied     atomic.Int64
	published  atomic.Int64 // messages taken
}

// New returns the hub whose public URI is uri: that under which its ServeHTTP is
// reached from outside, such as "https://example.org/websub/". opts may be nil.
func New(uri string, store Store, opts *Options) (*Hub, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, fmt.Errorf("hub: URI: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("hub: URI %q must be absolute, like https://example.org/websub/", uri)
	case store == nil:
		return nil, errors.New("hub: a store is needed")
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Hub{
		uri:     uri,
		store:   store,
		options: o,
		log:     o.Logger,
		guard:   &guard{allow: o.AllowCallbacks},
		topics:  map[string]bool{},
	}
	h.transport = h.guard.transport(&o)
	return h, nil
}

// Register makes topics known: the hub takes subscriptions to them, and
// messages. It implements [topic.Registrar].
func (h *Hub) Register(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.topics[t] = true
	}
}

// serves reports whether topic is one of the hub's. Topics are equal only if they
// are the same string.
func (h *Hub) serves(topic string) bool {
	h.mu.RLock()
	known := h.topics[topic]
	h.mu.RUnlock()
	return known || h.options.Allow != nil && h.options.Allow(topic)
}

// Submit takes n and delivers it to everyone who is subscribed to its topic. The
// same content submitted again to the same topic is not delivered again. It
// implements [topic.Submitter].
func (h *Hub) Submit(ctx context.Context, n topic.Notification) error {
	switch {
	case !h.serves(n.Topic):
		return &topic.RefusedError{Reason: fmt.Sprintf("the hub does not serve the topic %s: Register it", n.Topic)}
	case len(n.Body) == 0 || len(n.Body) > MaxMessage:
		return &topic.RefusedError{Reason: fmt.Sprintf("a notification has 1 to %d bytes, not %d: split it", MaxMessage, len(n.Body))}
	}
	links := linkheader.AppendLink(nil, linkheader.Link{Target: n.Topic, Rel: "self"})
	if n.CapabilityList != "" {
		links = append(links, ", "...)
		links = linkheader.AppendLink(links, linkheader.Link{Target: n.CapabilityList, Rel: "resourcesync"})
	}
	_, err := h.store.Publish(ctx, Message{
		Topic:       n.Topic,
		ID:          messageID(n.Topic, n.Body),
		ContentType: "application/xml",
		Links:       string(links),
		Body:        n.Body,
		Published:   time.Now(),
	})
	if err == nil {
		h.counters.published.Add(1)
	}
	return err
}

// messageID is the same for the same content in the same topic.
func messageID(topic string, body []byte) string {
	d := sha256.New()
	d.Write([]byte(topic))
	d.Write([]byte{0})
	d.Write(body)
	return hex.EncodeToString(d.Sum(nil)[:16])
}

// Run verifies subscriptions and delivers messages until ctx ends, and then
// returns nil. It must not be called twice at the same time.
func (h *Hub) Run(ctx context.Context) error {
	if !h.running.CompareAndSwap(false, true) {
		return errors.New("hub: Run is running already")
	}
	defer h.running.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.verify(ctx) })
	g.Go(func() error { return h.deliver(ctx) })
	g.Go(func() error { return h.clear(ctx) })
	return g.Wait()
}

// clear drops what is not needed any more, now and then, and tells of what somebody
// still needed.
func (h *Hub) clear(ctx context.Context) error {
	for {
		dropped, err := h.store.Clear(ctx, time.Now().Add(-h.options.Retain))
		for _, d := range dropped {
			h.deliveries.dropped.Add(int64(d.Deliveries))
			h.log.Warn("hub: messages were too old to be kept for subscribers that had not taken them; they can find what these tell of in the Change List",
				"topic", d.Topic, "messages", d.Messages, "subscriptions", d.Subscriptions)
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("hub: what has expired could not be cleared; trying again in a minute", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
		}
	}
}
