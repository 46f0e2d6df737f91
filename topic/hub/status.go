package hub

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

func (n *Deliveries) count(status int) {
	switch {
	case status == 0:
		n.Unanswered++
	case status >= 200 && status <= 299:
		n.Delivered++
	case status >= 300 && status <= 399:
		n.Redirected++
	case status >= 400 && status <= 499:
		n.Refused++
	default:
		n.Failed++
	}
}

// A Status describes a [Hub] for operators. It can be served as JSON.
type Status struct {
	// Totals of this process since its start.
	Requests   Requests   `json:"requests"`
	Deliveries Deliveries `json:"deliveries"`

	// The numbers of subscriptions in the log, for all processes. Waiting counts those
	// that have not accepted the newest message of their topic, Failing those whose
	// last delivery failed, and Expired those that have not been removed yet.
	Subscriptions int `json:"subscriptions"`
	Waiting       int `json:"waiting"`
	Failing       int `json:"failing"`
	Expired       int `json:"expired"`

	// OldestWaiting is the time at which the oldest waiting message was published;
	// zero if none waits.
	OldestWaiting time.Time `json:"oldestWaiting,omitzero"`
}

// Requests are the numbers of requests to a hub.
type Requests struct {
	Accepted   int64 `json:"accepted"`   // to subscribe and to unsubscribe
	Refused    int64 `json:"refused"`    // answered 4xx, except 429
	Limited    int64 `json:"limited"`    // answered 429
	Verified   int64 `json:"verified"`   // confirmed by the subscriber
	Unverified int64 `json:"unverified"` // not confirmed by the subscriber
	Denied     int64 `json:"denied"`
}

// Deliveries are the numbers of attempts by their result, and of undelivered messages.
type Deliveries struct {
	Delivered  int64 `json:"delivered"`  // answered 2xx
	Redirected int64 `json:"redirected"` // answered 3xx
	Refused    int64 `json:"refused"`    // answered 4xx
	Failed     int64 `json:"failed"`     // answered 5xx, or an invalid status
	Unanswered int64 `json:"unanswered"` // not reached, or not in time
	Retried    int64 `json:"retried"`    // of all these, attempts after the first
	GivenUp    int64 `json:"givenUp"`    // messages, counted for each subscriber
	Ended      int64 `json:"ended"`      // subscriptions, by 410
}

// Status returns the status of the hub. It reads all subscriptions: 100,000 in PostgreSQL
// take half a second.
func (h *Hub) Status(ctx context.Context) (Status, error) {
	return h.Inspect(ctx, func(Subscription) {})
}

// Inspect returns the status of the hub, and calls each with the subscriptions that it reads for
// that, by ID: without their secrets and without the queries of their callbacks.
func (h *Hub) Inspect(ctx context.Context, each func(Subscription)) (Status, error) {
	s := Status{Requests: h.requestTotals.Load(), Deliveries: h.deliveryTotals.Load()}
	now := time.Now()
	taken := map[string]map[int64]int{} // number of subscriptions by topic and cursor
	for sub, err := range h.store.Subscriptions(ctx) {
		if err != nil {
			return Status{}, err
		}
		each(describe(&sub))
		s.Subscriptions++
		if !sub.Expires.After(now) {
			s.Expired++
			continue
		}
		if sub.Progress.Failures > 0 {
			s.Failing++
		}
		if taken[sub.Topic] == nil {
			taken[sub.Topic] = map[int64]int{}
		}
		taken[sub.Topic][sub.Progress.Taken]++
	}
	for name, at := range taken {
		if err := h.waiting(ctx, &s, name, at); err != nil {
			return Status{}, err
		}
	}
	return s, nil
}

// waiting adds the waiting subscriptions of a topic to s. at has the number of subscriptions
// by cursor.
func (h *Hub) waiting(ctx context.Context, s *Status, topic string, at map[int64]int) error {
	places := slices.Sorted(maps.Keys(at))
	next, err := h.store.Read(ctx, topic, places[0], 1, 0)
	if err != nil || len(next) == 0 {
		return err
	}
	if t := next[0].Made; s.OldestWaiting.IsZero() || t.Before(s.OldestWaiting) {
		s.OldestWaiting = t
	}
	// Examine only a few cursors: if there is no message after one, there is none after
	// later ones.
	none := sort.Search(len(places), func(i int) bool {
		if err == nil {
			next, err = h.store.Read(ctx, topic, places[i], 1, 0)
		}
		return len(next) == 0
	})
	for _, taken := range places[:none] {
		s.Waiting += at[taken]
	}
	return err
}

// A Subscription describes a subscription for operators.
type Subscription struct {
	ID       int64
	Topic    string
	Callback string // without its query
	Made     time.Time
	Expires  time.Time

	// Taken is the number of the newest notification that was delivered or given up.
	Taken int64

	// Failures counts the failed attempts to deliver the next notification, and
	// FailingSince is the time of the first. Retry is the time of the next attempt.
	Failures     int
	FailingSince time.Time
	LastError    string
	Retry        time.Time

	// Delivered and GivenUp count notifications since the subscription was created.
	// LastDelivered is the time of the last delivery, or zero if it is not known.
	Delivered, GivenUp int64
	LastDelivered      time.Time
}

// Subscriptions yields the subscriptions by ID, without their secrets and without the
// queries of their callbacks. The call itself does no work. An error is yielded once and
// last.
func (h *Hub) Subscriptions(ctx context.Context) iter.Seq2[Subscription, error] {
	return func(yield func(Subscription, error) bool) {
		for sub, err := range h.store.Subscriptions(ctx) {
			if !yield(describe(&sub), err) || err != nil {
				return
			}
		}
	}
}

func describe(s *pushlog.Subscription) Subscription {
	p := &s.Progress
	return Subscription{
		ID:            s.ID,
		Topic:         s.Topic,
		Callback:      sparse.RedactURI(s.Callback),
		Made:          s.Made,
		Expires:       s.Expires,
		Taken:         p.Taken,
		Failures:      p.Failures,
		FailingSince:  p.FailingSince,
		LastError:     p.LastError,
		Retry:         p.Retry,
		Delivered:     p.Delivered,
		GivenUp:       p.GivenUp,
		LastDelivered: p.LastDelivered,
	}
}
