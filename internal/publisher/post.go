package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A failure means that a hub has not accepted a notification, and that the Publisher must
// retry.
type failure struct {
	reason string
	after  time.Duration // the time to wait that the hub requests; zero if none
}

func (e *failure) Error() string { return e.reason }

// A refusal means that a hub will never accept a notification.
type refusal struct{ reason string }

func (e *refusal) Error() string { return "refused: " + e.reason }

// send sends n to a hub. The error is a *refusal if the hub will never accept n.
func (p *Publisher) send(ctx context.Context, hub *topic.Hub, n *pushlog.Notification) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	switch {
	case hub.Ping:
		form := url.Values{"hub.mode": {"publish"}, "hub.url": {n.Topic}}.Encode()
		return p.post(ctx, hub, "application/x-www-form-urlencoded", "", []byte(form))
	default:
		return p.post(ctx, hub, contentType, links(n.Topic, []string{hub.URI}, n.CapabilityList), n.Body)
	}
}

// contentType is the exact media type of notifications (Change Notification 4.1).
const contentType = "application/xml"

// post posts body to a hub and evaluates the response.
func (p *Publisher) post(ctx context.Context, hub *topic.Hub, mediaType, links string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, hub.URI, bytes.NewReader(body))
	if err != nil {
		return &failure{reason: cause(err)}
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("User-Agent", "resourcesync")
	if links != "" {
		r.Header.Set("Link", links)
	}
	if hub.Token != "" {
		r.Header.Set("Authorization", "Bearer "+hub.Token)
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
		return &refusal{reason: reason}
	}
	return &failure{reason: reason, after: retry.After(resp.Header, time.Now())}
}

// maxAnswer is the maximum number of bytes read of a response.
const maxAnswer = 4 << 10

// isTemporary reports whether a client error does not concern the request itself.
func isTemporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
}

// excerpt returns the first line of a plain text response, for operators. It omits a line
// that could contain a query or a secret.
func excerpt(mediaType string, answer []byte, token string) string {
	const most = 200
	mediaType, _, _ = strings.Cut(mediaType, ";")
	line, _, _ := strings.Cut(strings.TrimSpace(string(answer)), "\n")
	line = strings.TrimSpace(line)
	hidden := !utf8.ValidString(line) || strings.ContainsAny(line, "?=&@%") || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) ||
		token != "" && strings.Contains(line, token)
	if strings.TrimSpace(mediaType) != "text/plain" || line == "" || len(line) > most || hidden {
		return ""
	}
	return ": " + line
}

// cause returns the reason for a failed request, without the URL, whose query may be a
// secret, and without the target of a redirect.
func cause(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if text := err.Error(); !strings.ContainsAny(text, "?&@%") {
		return text
	}
	return "the request to the hub failed"
}

// links returns the value of the single Link header field of a notification or a topic
// (Change Notification 4.1).
func links(topic string, hubs []string, capabilityList string) string {
	b := linkheader.AppendLink(nil, linkheader.Link{Target: topic, Rel: resourcesync.RelSelf})
	for _, hub := range hubs {
		b = linkheader.AppendLink(append(b, ", "...), linkheader.Link{Target: hub, Rel: resourcesync.RelHub})
	}
	return string(linkheader.AppendLink(append(b, ", "...), linkheader.Link{Target: capabilityList, Rel: resourcesync.RelResourceSync}))
}
