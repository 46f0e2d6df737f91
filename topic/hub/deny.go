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

// notServed is why a subscription is denied to a topic that is not there.
const notServed = "this hub does not serve the topic any more"

// ErrNoSubscription says that there is no subscription of that ID.
var ErrNoSubscription = errors.New("hub: there is no such subscription")

// Deny ends the subscription with the ID given, and tells its subscriber so, and
// why (WebSub 5.2). It returns once the subscription has ended and the subscriber
// has answered, or failed to.
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

// Withdraw undoes Register: topics are not served any more. It ends their
// subscriptions, of every process, and tells the subscribers so, and why.
//
// A topic that is not registered in some process keeps its subscriptions until
// their leases end, because another process may know it. So where several processes
// share a store and the site moves, whoever knows that none of them serves the old
// topics any more calls Withdraw with these, in one process. Until then, or until
// the leases end, their subscriptions are sent nothing, count for limits, and cannot
// be renewed.
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

// deny tells a subscriber that there is no subscription, or no longer. It is told
// once; nothing depends on the answer.
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
