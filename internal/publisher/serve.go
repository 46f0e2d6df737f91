package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
)

// ServeTopic answers a request for a topic URI (Change Notification 4.1) with the latest
// notification, or an empty body before the first, and with links to the topic itself, its
// hubs and the Capability List. It works in every process, and ignores the path of the
// request. If topic belongs neither to the Publisher nor to a removed set, it answers 404.
func (p *Publisher) ServeTopic(w http.ResponseWriter, r *http.Request, topic string) {
	if !reqbody.None(w, r) {
		return
	}
	c := p.topics[topic]
	if c == nil {
		c = p.removedChannel(r.Context(), topic)
	}
	if c == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		text := "Only GET and HEAD are allowed here."
		if len(c.hubs()) > 0 {
			text += " Subscribe at the hub that GET links to."
		}
		http.Error(w, text, http.StatusMethodNotAllowed)
		return
	}
	_, newest, err := p.newest(r.Context(), topic)
	if err != nil {
		if r.Context().Err() == nil {
			p.sparse.Log(r.Context(), p.log, slog.LevelError, "topic not served: the log has failed",
				slog.String("topic", sparse.RedactURI(topic)), slog.Any("error", err))
		}
		h.Set("Cache-Control", "no-store")
		h.Set("Retry-After", "30")
		http.Error(w, "The latest notification cannot be read at the moment. Try again later.", http.StatusServiceUnavailable)
		return
	}
	var body []byte
	if newest != nil {
		body = newest.Body
	}
	sum := sha256.Sum256(body)
	h.Set("Link", c.links())
	h.Set("Cache-Control", "public, no-cache")
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// Links returns the value of the Link header field of a topic of the Publisher.
func (p *Publisher) Links(topic string) string { return p.topics[topic].links() }

func (c *Channel) links() string { return outgoing.Links(c.Topic, c.CapabilityList, c.hubs()...) }

// hubs returns the URIs of all hubs of c.
func (c *Channel) hubs() []string {
	var uris []string
	if c.OwnHub != "" {
		uris = append(uris, c.OwnHub)
	}
	for _, h := range c.Hubs {
		uris = append(uris, h.URI)
	}
	return uris
}

// newest returns the state of a topic and its newest notification, or nil if there is none.
func (p *Publisher) newest(ctx context.Context, topic string) (pushlog.State, *pushlog.Notification, error) {
	for {
		state, err := p.store.State(ctx, topic)
		if err != nil || state.Number == 0 {
			return state, nil, err
		}
		found, err := p.store.Read(ctx, topic, state.Number-1, sendAhead, sendBytes)
		if err != nil {
			return state, nil, err
		}
		if len(found) > 0 {
			return state, &found[len(found)-1], nil
		}
		// It has been superseded and removed meanwhile.
		if err := ctx.Err(); err != nil {
			return state, nil, err
		}
	}
}

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

// Counters returns the Publisher's counters.
func (p *Publisher) Counters() topic.Counters { return p.totals.Load() }

func (p *Publisher) report(name string, err error) {
	p.failures.Log(context.Background(), p.log, name, err, "publishing failed; it is retried", "publishing works again")
}
