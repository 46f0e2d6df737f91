package check

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// topic tries a topic, its hubs and its WebSocket.
func (w *walker) topic(ctx context.Context, c resourcesync.Capability, ch child) error {
	if isSocket(ch.uri) {
		return w.socket(ctx, ch.uri, ch.at)
	}
	for _, l := range ch.entry.Links {
		if l.Rel == resourcesync.RelAlternate && isSocket(l.Href) {
			if err := w.socket(ctx, l.Href, ch.at); err != nil {
				return err
			}
		}
	}
	spec := "Change Notification"
	if c == resourcesync.FrameworkNotification {
		spec = "Framework Notification"
	}
	var hubs []string
	for _, l := range ch.entry.Links {
		if l.Rel == resourcesync.RelHub {
			hubs = append(hubs, l.Href)
		}
	}
	if len(hubs) == 0 {
		w.add("hub-missing", ch.at, spec+" 5", "the entry of %s has no link with the relation hub", ch.uri)
	}
	w.at(ch.uri)
	res, err := w.client.Document(ctx, ch.uri, fetch.Validators{})
	if err != nil {
		return w.failed(ctx, ch.uri, ch.at, err, "topic-unreachable", spec+" 4.1")
	}
	defer res.Close()
	w.topicHeader(res, spec+" 4.1", ch.uri, hubs)
	base, err := url.Parse(res.URL)
	if err != nil {
		return err
	}
	if res.Header.Get("Content-Length") != "0" {
		begin := make([]byte, 1)
		if n, _ := io.ReadFull(res, begin); n > 0 {
			body := io.MultiReader(strings.NewReader(string(begin)), res)
			if _, err := w.read(ch.uri, base, body, expectation{at: ch.at, capability: c}, time.Now(), nil); err != nil {
				return w.failed(ctx, ch.uri, ch.at, err, "topic-unreachable", spec+" 4.1")
			}
			w.documents.Add(1)
		}
	}
	res.Close()
	for _, hub := range hubs {
		if !w.hubs[hub] {
			w.hubs[hub] = true
			if err := w.hub(ctx, hub, ch); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSocket(uri string) bool {
	return strings.HasPrefix(uri, "ws:") || strings.HasPrefix(uri, "wss:")
}

// socketTime is the time in which a WebSocket must open.
const socketTime = 30 * time.Second

// socket opens a WebSocket, and closes it at once.
func (w *walker) socket(ctx context.Context, uri string, at place) error {
	if w.options.Transport != nil {
		w.skip("%s was not tried: a WebSocket needs a connection", uri)
		return nil
	}
	w.at(uri)
	limited, cancel := context.WithTimeout(ctx, socketTime)
	defer cancel()
	conn, _, err := websocket.Dial(limited, uri, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: w.client.Transport()}, HTTPHeader: http.Header{"User-Agent": {cmp.Or(w.options.UserAgent, "resourcesync")}},
	})
	if err != nil {
		return w.failed(ctx, uri, at, err, "websocket-unreachable", "")
	}
	// A close handshake would read whatever the server sends, without a limit.
	conn.CloseNow()
	return nil
}

// topicHeader judges the header of a topic.
func (w *walker) topicHeader(res *fetch.Document, section, topic string, hubs []string) {
	here := place{document: topic}
	if media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/xml") {
		w.add("topic-type", here, section, "the Content-Type is %q", res.Header.Get("Content-Type"))
	}
	links := linkheader.Parse(res.Header.Values("Link")...)
	var own []string
	for l := range linkheader.Find(links, resourcesync.RelHub) {
		own = append(own, l.Target)
	}
	if len(own) == 0 || len(hubs) > 0 && !slices.ContainsFunc(own, func(h string) bool { return slices.Contains(hubs, h) }) {
		w.add("topic-hub", here, section, "the hubs of its Link header are %q, those of the Capability List are %q", own, hubs)
	}
	self := ""
	for l := range linkheader.Find(links, resourcesync.RelSelf) {
		self = l.Target
	}
	if self != topic {
		w.add("topic-self", here, section, "the link with the relation self is %q, not %q", self, topic)
	}
}

// hub sends a request to a hub that it must refuse: a subscription without a callback. A refusal
// shows that the hub works, and creates no subscription. A real one needs a Callback.
func (w *walker) hub(ctx context.Context, hub string, ch child) error {
	s, _, err := w.ask(ctx, hub, url.Values{"hub.mode": {"subscribe"}, "hub.topic": {ch.uri}})
	if errors.Is(err, fetch.ErrDisallowed) {
		w.skip("the hub %s was not tried: robots.txt disallows it", hub)
		return nil
	}
	if err != nil {
		return w.failed(ctx, hub, ch.at, err, "hub-unreachable", "")
	}
	switch {
	case s == http.StatusNotFound || s == http.StatusGone || s == http.StatusMethodNotAllowed || s >= 500 || s < 200 || s >= 300 && s < 400:
		w.add("hub-unreachable", ch.at, "", "%s answers %d %s to a subscription request", hub, s, http.StatusText(s))
		return nil
	case s < 300:
		w.add("hub-careless", ch.at, "", "%s answers %d %s to a subscription request without a callback", hub, s, http.StatusText(s))
	}
	return w.subscribe(ctx, hub, ch)
}

// ask sends a request to a hub, and returns the status and the beginning of the response.
func (w *walker) ask(ctx context.Context, hub string, form url.Values) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, hub, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := w.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	begin, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	return res.StatusCode, string(begin), nil
}
