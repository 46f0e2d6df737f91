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

// A Status is where the channels of a Source and their hubs stand. It has nothing
// of the queries of URIs, and can be served as JSON.
type Status struct {
	Topics []TopicStatus `json:"topics"`
}

// A TopicStatus is where a channel stands.
type TopicStatus struct {
	Topic  string      `json:"topic"`
	Newest int64       `json:"newest"`         // number of the newest notification, 0 before the first
	Until  time.Time   `json:"until,omitzero"` // where the next one begins, of a change channel
	Error  string      `json:"error,omitzero"` // what keeps this process from making notifications
	Hubs   []HubStatus `json:"hubs"`
}

// A HubStatus is how far a hub has come with a topic.
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

// Status returns where everything stands by the log, whichever process does the
// work.
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
				cursor.Taken = state.Number // where it will begin
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

// Health returns what keeps this process from making notifications or from using
// its log, and reports changes that wait because no process calls
// [Publisher.Run]. It is nil if nothing is wrong. A hub that does not take notifications is
// not among it: that is nothing that a restart could help, and [Publisher.Status]
// has it.
func (p *Publisher) Health(ctx context.Context) error {
	err := p.checkIdle(ctx)
	if err != nil {
		err = fmt.Errorf("topic: %w", err)
	}
	return errors.Join(p.failures.Err("topic"), err)
}

// Counters tell what a Publisher has done since it was made. They can be served as
// JSON.
type Counters struct {
	Notifications uint64 `json:"notifications"` // appended to the log
	Changes       uint64 `json:"changes"`       // told by them
	LeftOut       uint64 `json:"leftOut"`       // changes and documents left out because their URIs cannot be written
	Dropped       uint64 `json:"droppedFields"` // fields left out because a document cannot hold their values
	Taken         uint64 `json:"taken"`         // notifications taken by a hub
	Failures      uint64 `json:"failures"`      // attempts to send one that have failed and are repeated
	Refused       uint64 `json:"refused"`       // notifications that a hub has refused for good
	Lost          uint64 `json:"lost"`          // notifications dropped by retention before a hub or a subscriber took them, counted for each
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

// failed returns what to do when the work of that name fails.
func (p *Publisher) failed(name string) func(error) {
	return func(err error) {
		if p.failures.Failed(name, err) {
			p.log.LogAttrs(context.Background(), slog.LevelError, "publishing has failed and is tried again",
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
