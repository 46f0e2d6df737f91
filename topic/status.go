package topic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// A Status is the progress of the channels of a Source and their hubs. It contains no
// queries of URIs, and can be served as JSON.
type Status struct {
	Topics []TopicStatus `json:"topics"`
}

// A TopicStatus is the progress of a channel.
type TopicStatus struct {
	Topic  string      `json:"topic"`
	Newest int64       `json:"newest"`         // number of the newest notification, 0 before the first
	Until  time.Time   `json:"until,omitzero"` // for a change channel, the beginning of the next notification
	Error  string      `json:"error,omitzero"` // prevents this process from publishing
	Hubs   []HubStatus `json:"hubs"`
}

// A HubStatus is the progress of a hub on a topic.
type HubStatus struct {
	Hub          string    `json:"hub"`
	Taken        int64     `json:"taken"`
	Behind       int64     `json:"behind"`
	Failures     int       `json:"failures"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	LastError    string    `json:"lastError,omitzero"`
	NextAttempt  time.Time `json:"nextAttempt,omitzero"`
	Refused      int64     `json:"refused"`
	LastRefused  int64     `json:"lastRefused,omitzero"`
	RefusedError string    `json:"refusedError,omitzero"`
	Lost         int64     `json:"lost"`
}

// Status returns the progress recorded in the log, whichever process is the leader.
func (p *Publisher) Status(ctx context.Context) (Status, error) {
	all, err := p.store.AllHubCursors(ctx)
	if err != nil {
		return Status{}, err
	}
	cursors := make(map[[2]string]pushlog.HubCursor, len(all))
	for _, c := range all {
		cursors[[2]string{c.Topic, c.Hub}] = c
	}
	var out Status
	for i := range p.channels {
		c := &p.channels[i]
		state, err := p.store.State(ctx, c.Topic)
		if err != nil {
			return Status{}, err
		}
		t := TopicStatus{Topic: sparse.RedactURI(c.Topic), Newest: state.Number, Hubs: make([]HubStatus, 0, len(c.Hubs))}
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
			t.Hubs = append(t.Hubs, HubStatus{
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
	return out, nil
}

// Health returns the errors that prevent this process from publishing or from using its log,
// and an error if changes wait because no process calls [Publisher.Run]. It returns nil if
// there are none. A hub that does not accept notifications is not an error, because a
// restart would not help; [Publisher.Status] reports it.
func (p *Publisher) Health(ctx context.Context) error {
	err := p.checkIdle(ctx)
	if err != nil {
		err = fmt.Errorf("topic: %w", err)
	}
	return errors.Join(p.failures.Err("topic"), err)
}

// Counters are totals since the Publisher was created. They can be served as JSON.
type Counters struct {
	Notifications uint64 `json:"notifications"` // appended to the log
	Changes       uint64 `json:"changes"`       // changes in these notifications
	LeftOut       uint64 `json:"leftOut"`       // changes and documents omitted because of invalid URIs
	Dropped       uint64 `json:"droppedFields"` // fields omitted because a document cannot hold their values
	Taken         uint64 `json:"taken"`         // notifications accepted by a hub
	Failures      uint64 `json:"failures"`      // failed attempts to send a notification
	Refused       uint64 `json:"refused"`       // notifications permanently refused by a hub
	Lost          uint64 `json:"lost"`          // notifications dropped by retention before a hub or subscriber accepted them, counted for each
}

type counters struct {
	notifications, changes, leftOut, dropped, taken, failures, refused, lost atomic.Uint64
}

// Counters returns the Publisher's counters.
func (p *Publisher) Counters() Counters {
	c := &p.counters
	return Counters{
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
