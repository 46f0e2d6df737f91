package publisher

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// ServeTopic answers a request for a topic URI (Change Notification 4.1) with the latest
// notification, or an empty body before the first, and with links to the topic itself, its
// hubs and the Capability List. It works in every process, and ignores the path of the
// request. If topic is not one of the Publisher, it answers 404.
func (p *Publisher) ServeTopic(w http.ResponseWriter, r *http.Request, topic string) {
	if !reqbody.None(w, r) {
		return
	}
	c := p.topics[topic]
	if c == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		text := "Only GET and HEAD are allowed here. Subscribe at the hub that GET links to."
		if len(c.hubURIs()) == 0 {
			text = "Only GET and HEAD are allowed here."
		}
		http.Error(w, text, http.StatusMethodNotAllowed)
		return
	}
	body, err := p.latest(r.Context(), topic)
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
	sum := sha256.Sum256(body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	h.Set("Link", links(c.Topic, c.hubURIs(), c.CapabilityList))
	h.Set("Cache-Control", "public, no-cache")
	h.Set("ETag", etag)
	if matches(r.Header["If-None-Match"], etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // fails if the client has left
	}
}

// latest returns the newest notification of a topic, or nil if there is none.
func (p *Publisher) latest(ctx context.Context, topic string) ([]byte, error) {
	for {
		state, err := p.store.State(ctx, topic)
		if err != nil || state.Number == 0 {
			return nil, err
		}
		found, err := p.store.Read(ctx, topic, state.Number-1, sendAhead, sendBytes)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found[len(found)-1].Body, nil
		}
		// It has been superseded and removed meanwhile.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// matches evaluates If-None-Match (RFC 9110, section 13.1.2).
func matches(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
