package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
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
	hub    *topic.RemoteHub
	log    *slog.Logger
	poller *poller

	cursor pushlog.HubCursor
	known  bool // cursor has been read
	tried  bool // this process has attempted to send
	dirty  bool // cursor must be saved
}

func newSender(p *Publisher, topic string, hub *topic.RemoteHub) *sender {
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
	s.p.totals.Count(func(c *topic.Counters) { c.Lost += uint64(n) })
	s.log.LogAttrs(context.Background(), slog.LevelError,
		"retention has dropped notifications that the hub had not accepted: its subscribers see a gap", slog.Int64("count", n))
}

// attempt sends n and saves the result. It returns errors of the log and of ctx only.
func (s *sender) attempt(ctx context.Context, n *pushlog.Notification) error {
	c := &s.cursor
	failed := s.p.send(ctx, s.hub, n)
	if ctx.Err() != nil && failed != nil {
		return ctx.Err()
	}
	switch {
	case failed == nil:
		if c.Failures > 0 {
			s.log.LogAttrs(ctx, slog.LevelInfo, "the hub accepts notifications again",
				slog.Int64("number", n.Number), slog.Int("failures", c.Failures), slog.Time("since", c.FailingSince))
		}
		s.p.totals.Count(func(c *topic.Counters) { c.Taken++ })
		c.Pass(n.Number)
	case failed.final:
		c.Refused++
		c.LastRefused, c.RefusedError = n.Number, failed.reason
		s.p.totals.Count(func(c *topic.Counters) { c.Refused++ })
		s.log.LogAttrs(ctx, slog.LevelError, "the hub has refused a notification, which its subscribers will not receive",
			slog.Int64("number", n.Number), slog.String("reason", failed.reason))
		c.Pass(n.Number)
	default:
		now := time.Now()
		c.Fail(now, failed.reason)
		c.Retry = now.Add(retry.Policy{First: s.p.options.Retry, Max: maxRetry}.Wait(c.Failures, failed.after))
		if c.Failures == 1 {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the hub has not accepted a notification; it is retried, and later ones wait",
				slog.Int64("number", n.Number), slog.String("error", failed.reason))
		}
		s.p.totals.Count(func(c *topic.Counters) { c.Failures++ })
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

// hostOf returns the host of a URI.
func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Host
}

// send sends n to a hub. It returns nil if the hub has accepted n.
func (p *Publisher) send(ctx context.Context, hub *topic.RemoteHub, n *pushlog.Notification) (failed *failure) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	if t := p.options.Tracer; t != nil {
		var end func(error)
		ctx, end = t.Start(ctx, "resourcesync.submit", slog.String("topic", sparse.RedactURI(n.Topic)),
			slog.String("host", hostOf(hub.URI)), slog.Int64("number", n.Number))
		defer func() { end(failed.err()) }()
	}
	mediaType, body := contentType, n.Body
	if hub.Ping {
		mediaType = "application/x-www-form-urlencoded"
		body = []byte(url.Values{"hub.mode": {"publish"}, "hub.url": {n.Topic}, "hub.topic": {n.Topic}}.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, hub.URI, bytes.NewReader(body))
	if err != nil {
		return &failure{reason: cause(err)}
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("User-Agent", "resourcesync")
	if !hub.Ping {
		r.Header.Set("Link", outgoing.Links(n.Topic, n.CapabilityList, hub.URI))
	}
	if hub.Token != "" {
		r.Header.Set("Authorization", "Bearer "+hub.Token)
	}
	if p.options.Tracer != nil {
		p.options.Tracer.Inject(ctx, r.Header.Set)
	}
	resp, err := p.options.Client.Do(r)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return &failure{reason: fmt.Sprintf("the hub has not answered within %v", p.options.Timeout)}
		}
		return &failure{reason: cause(err)}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // allows reuse of the connection
	if err != nil {
		answer = nil // the status is enough
	}
	reason := "the hub answered " + resp.Status + excerpt(resp.Header.Get("Content-Type"), answer, hub.Token)
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode/100 == 3:
		reason += ", which is not followed: set the hub's own URI"
	case resp.StatusCode/100 == 4 && !isTemporary(resp.StatusCode):
		if !hub.Ping && mayNeedPing(resp.StatusCode) {
			reason += "; a hub that supports only hub.mode=publish needs pings: --ping-hub, or Ping of topic.RemoteHub"
		}
		return &failure{reason: reason, final: true}
	}
	return &failure{reason: reason, after: retry.After(resp.Header, time.Now())}
}
