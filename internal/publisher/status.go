package publisher

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
)

// Status returns the progress recorded in the log, whichever process is the leader.
func (p *Publisher) Status(ctx context.Context) (topic.Status, error) {
	all, err := p.store.AllHubCursors(ctx)
	if err != nil {
		return topic.Status{}, err
	}
	cursors := make(map[[2]string]pushlog.HubCursor, len(all))
	for _, c := range all {
		cursors[[2]string{c.Topic, c.Hub}] = c
	}
	var out topic.Status
	for i := range p.channels {
		c := &p.channels[i]
		state, err := p.store.State(ctx, c.Topic)
		if err != nil {
			return topic.Status{}, err
		}
		t := topic.TopicStatus{Topic: sparse.RedactURI(c.Topic), Newest: state.Number, Hubs: make([]topic.HubStatus, 0, len(c.Hubs))}
		if c.Changer != nil {
			t.Until = state.Until
		}
		if err := p.failures.Of("notifications of " + sparse.RedactURI(c.Topic)); err != nil {
			t.Error = err.Error()
		}
		for _, h := range c.Hubs {
			cursor, found := cursors[[2]string{c.Topic, h.URI}]
			if !found {
				cursor.Taken = state.Number // where a new cursor begins
			}
			t.Hubs = append(t.Hubs, topic.HubStatus{
				Hub:          sparse.RedactURI(h.URI),
				Taken:        cursor.Taken,
				Behind:       max(state.Number-cursor.Taken, 0),
				Failures:     cursor.Failures,
				FailingSince: cursor.FailingSince,
				LastError:    cursor.LastError,
				NextAttempt:  cursor.Retry,
				Refused:      cursor.Refused,
				LastRefused:  cursor.LastRefused,
				RefusedError: cursor.RefusedError,
				Lost:         cursor.Lost,
			})
		}
		out.Topics = append(out.Topics, t)
	}
	out.Counters = p.Counters()
	return out, nil
}

// Health returns the errors that prevent this process from publishing or from using its
// log. It returns nil if there are none. A hub that does not accept notifications is not an
// error, because a restart would not help; [Publisher.Status] reports it.
func (p *Publisher) Health(context.Context) error {
	return p.failures.Err("topic")
}

// counters are totals since the Publisher was created, by the fields of
// [topic.Counters].
type counters struct {
	notifications, changes, leftOut, dropped, taken, failures, refused, lost atomic.Uint64
}

// Counters returns the Publisher's counters.
func (p *Publisher) Counters() topic.Counters {
	c := &p.counters
	return topic.Counters{
		Notifications: c.notifications.Load(),
		Changes:       c.changes.Load(),
		LeftOut:       c.leftOut.Load(),
		Dropped:       c.dropped.Load(),
		Taken:         c.taken.Load(),
		Failures:      c.failures.Load(),
		Refused:       c.refused.Load(),
		Lost:          c.lost.Load(),
	}
}

// failed returns a function that records an error of the named work.
func (p *Publisher) failed(name string) func(error) {
	return func(err error) {
		if p.failures.Failed(name, err) {
			p.log.LogAttrs(context.Background(), slog.LevelError, "publishing failed; it is retried",
				slog.String("work", name), slog.Any("error", err))
		}
	}
}

func (p *Publisher) ok(name string) func() {
	return func() {
		if p.failures.Succeeded(name) {
			p.log.LogAttrs(context.Background(), slog.LevelInfo, "publishing works again", slog.String("work", name))
		}
	}
}
