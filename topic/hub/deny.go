package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/url"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// notServed is the reason for denying a subscription to an unknown topic.
const notServed = "this hub does not serve the topic any more"

// ErrNoSubscription means that no subscription has the ID.
var ErrNoSubscription = errors.New("hub: there is no such subscription")

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
// them any more. Until then, or until the leases end, their subscriptions receive nothing,
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
	h.counters.denied.Add(1)
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
