package publisher

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
)

// sendAhead and sendBytes limit the number and size of the notifications read at once.
const (
	sendAhead = 8
	sendBytes = 8 * maxBody
)

// maxRetry is the longest wait between two attempts.
const maxRetry = time.Hour

// A sender sends the notifications of one topic to one hub, in order. It is not safe for
// concurrent use.
type sender struct {
	p      *Publisher
	topic  string
	hub    *topic.Hub
	log    *slog.Logger
	poller *poller

	cursor pushlog.HubCursor
	known  bool // cursor has been read
	tried  bool // this process has attempted to send
	dirty  bool // cursor must be saved
}

func newSender(p *Publisher, topic string, hub *topic.Hub) *sender {
	return &sender{
		p:      p,
		topic:  topic,
		hub:    hub,
		log:    p.log.With("topic", sparse.RedactURI(topic), "hub", sparse.RedactURI(hub.URI)),
		poller: &poller{woken: make(chan struct{}, 1)},
	}
}

// work sends the notifications after the cursor, and returns the time to wait before the
// next call.
func (s *sender) work(ctx context.Context) (time.Duration, error) {
	if !s.known {
		c, err := s.p.store.HubCursor(ctx, s.topic, s.hub.URI)
		if err != nil {
			return 0, err
		}
		s.cursor, s.known = c, true
	}
	// Save the cursor before sending, so that a failed save repeats no notification.
	if err := s.save(ctx); err != nil {
		return 0, err
	}
	for {
		// Limit the wait in case the clock has been set back. A new leader tries
		// at once: the process may have been restarted after a repair.
		if rest := min(time.Until(s.cursor.Retry), 2*maxRetry); s.tried && s.cursor.Failures > 0 && rest > 0 {
			// New notifications come later, so they need not interrupt the wait.
			return 0, background.Sleep(ctx, rest)
		}
		notifications, err := s.p.store.Read(ctx, s.topic, s.cursor.Taken, sendAhead, sendBytes)
		if err != nil {
			return 0, err
		}
		if len(notifications) == 0 {
			return sweep, nil
		}
		s.tried = true
		if s.hub.Ping {
			err = s.ping(ctx, notifications)
		} else {
			err = s.post(ctx, notifications)
		}
		if err != nil {
			return 0, err
		}
	}
}

// post sends notifications one after the other, until one fails.
func (s *sender) post(ctx context.Context, notifications []pushlog.Notification) error {
	for i := range notifications {
		n := &notifications[i]
		s.missed(n.Number - s.cursor.Taken - 1)
		if err := s.attempt(ctx, n); err != nil || s.cursor.Failures > 0 {
			return err
		}
	}
	return nil
}

// ping pings the hub for the newest notification, the only one that the hub will fetch.
func (s *sender) ping(ctx context.Context, notifications []pushlog.Notification) error {
	for {
		more, err := s.p.store.Read(ctx, s.topic, notifications[len(notifications)-1].Number, sendAhead, sendBytes)
		if err != nil {
			return err
		}
		if len(more) == 0 {
			break
		}
		notifications = more
	}
	return s.attempt(ctx, &notifications[len(notifications)-1])
}

// missed counts notifications that retention has dropped.
func (s *sender) missed(n int64) {
	if n <= 0 {
		return
	}
	s.cursor.Lost += n
	s.cursor.Taken += n
	s.p.counters.lost.Add(uint64(n))
	s.log.LogAttrs(context.Background(), slog.LevelError,
		"retention has dropped notifications that the hub had not accepted: its subscribers see a gap", slog.Int64("count", n))
}

// attempt sends n and saves the result. It returns errors of the log and of ctx only.
func (s *sender) attempt(ctx context.Context, n *pushlog.Notification) error {
	c := &s.cursor
	err := s.p.send(ctx, s.hub, n)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	refused, isRefused := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		if c.Failures > 0 {
			s.log.LogAttrs(ctx, slog.LevelInfo, "the hub accepts notifications again",
				slog.Int64("number", n.Number), slog.Int("failures", c.Failures), slog.Time("since", c.FailingSince))
		}
		s.p.counters.taken.Add(1)
		c.Pass(n.Number)
	case isRefused:
		c.Refused++
		c.LastRefused, c.RefusedError = n.Number, refused.reason
		s.p.counters.refused.Add(1)
		s.log.LogAttrs(ctx, slog.LevelError, "the hub has refused a notification, which its subscribers will not receive",
			slog.Int64("number", n.Number), slog.String("reason", refused.reason))
		c.Pass(n.Number)
	default:
		var asked time.Duration
		if f, ok := errors.AsType[*failure](err); ok {
			asked = f.after
		}
		c.Fail(time.Now(), err.Error(), retry.Policy{First: s.p.options.Retry, Max: maxRetry}.Asked(asked))
		if c.Failures == 1 {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the hub has not accepted a notification; it is retried, and later ones wait",
				slog.Int64("number", n.Number), slog.Any("error", err))
		}
		s.p.counters.failures.Add(1)
	}
	s.dirty = true
	return s.save(ctx)
}

func (s *sender) save(ctx context.Context) error {
	if !s.dirty {
		return nil
	}
	err := s.p.store.SaveHubCursor(ctx, s.cursor)
	s.dirty = err != nil
	return err
}
