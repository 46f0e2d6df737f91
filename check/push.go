package check

import (
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
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// topic tries a topic of a Capability List, its hubs and its WebSocket.
func (w *walker) topic(ctx context.Context, ch child, list *document) error {
	c := tree.Today(ch.entry.Metadata.Capability)
	spec := "Change Notification"
	if c == resourcesync.FrameworkNotification {
		spec = "Framework Notification"
	}
	if other, listed := w.topics[ch.uri]; listed {
		w.add("topic-shared", ch.at, spec+" 2", "%s is also the topic of another entry, with the capability %s", ch.uri, other)
		return nil
	}
	w.topics[ch.uri] = string(c)
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
	base, err := url.Parse(res.URL)
	if err != nil {
		return err
	}
	w.topicHeader(res, base, spec+" 4.1", ch.uri, hubs)
	if res.Header.Get("Content-Length") != "0" {
		begin := make([]byte, 1)
		if n, _ := io.ReadFull(res, begin); n > 0 {
			body := io.MultiReader(strings.NewReader(string(begin)), res)
			read := time.Now()
			x := expectation{at: ch.at, capability: c}
			if c == resourcesync.ChangeNotification {
				x.up = list.name
			}
			var above []string // where the up link of a Framework Notification may lead, by its entries
			created := make(map[string]bool)
			d, err := w.read(ch.uri, base, body, x, read, func(d *document, e *rsxml.Entry, at place) {
				if d.capability == resourcesync.FrameworkNotification {
					above = append(above, w.announced(base, e, at, list, created))
				}
			})
			if err != nil {
				return w.failed(ctx, ch.uri, ch.at, err, "topic-unreachable", spec+" 4.1")
			}
			if up := linkOf(base, d.head.Links, resourcesync.RelUp); up != "" && len(above) > 0 && !slices.Contains(above, up) {
				w.add("link-up-wrong", d.place, "", "the link leads to %s, not to %s", up, above[0])
			}
			w.documents.Add(1)
			w.remember(ch.uri, res, d, read)
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

// announced judges an entry of a Framework Notification by the documents that have been read, and
// notes the indexes whose parts were created. It returns the document above the announced one, in
// the set of list.
func (w *walker) announced(base *url.URL, e *rsxml.Entry, at place, list *document, created map[string]bool) (above string) {
	part, known := w.parts[hashOf(e.Loc)]
	switch index := part.index; {
	case !known || e.Metadata.Datetime.Before(part.at): // there may have been no index then
	case index == "" && !part.at.IsZero():
		w.add("notification-parts", at, "", "%s is an index", e.Loc)
	case index == "":
	case linkOf(base, e.Links, resourcesync.RelIndex) != index:
		w.add("notification-index-missing", at, "", "the entry of %s has no link with the relation index to %s, which lists it", e.Loc, index)
	case e.Metadata.Change == resourcesync.Created && created[index]:
		w.add("notification-parts", at, "", "%s is another new part of %s", e.Loc, index)
	case e.Metadata.Change == resourcesync.Created:
		created[index] = true
	}
	if tree.Today(e.Metadata.Capability) == resourcesync.CapabilityList {
		return linkOf(base, list.head.Links, resourcesync.RelUp)
	}
	return list.name
}

// linkOf returns the target of the first link of a relation, or "".
func linkOf(base *url.URL, links []resourcesync.Link, rel string) string {
	for _, l := range links {
		if l.Rel == rel {
			target, _ := tree.Resolve(base, l.Href)
			return target
		}
	}
	return ""
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
	conn, _, err := websocket.Dial(limited, uri, &websocket.DialOptions{HTTPClient: &http.Client{Transport: w.client.Transport()}})
	if err != nil {
		return w.failed(ctx, uri, at, err, "websocket-unreachable", "")
	}
	// A close handshake would read what the server sends, without a limit.
	conn.CloseNow()
	return nil
}

// topicHeader judges the header of a topic.
func (w *walker) topicHeader(res *fetch.Document, base *url.URL, section, topic string, hubs []string) {
	here := place{document: topic}
	if media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/xml") {
		w.add("topic-type", here, section, "the Content-Type is %q", res.Header.Get("Content-Type"))
	}
	links := linkheader.Parse(res.Header.Values("Link")...)
	var own []string
	for l := range linkheader.Find(links, resourcesync.RelHub) {
		own = append(own, absolute(base, l.Target))
	}
	if len(own) == 0 || len(hubs) > 0 && !slices.ContainsFunc(own, func(h string) bool { return slices.Contains(hubs, h) }) {
		w.add("topic-hub", here, section, "the hubs in its Link header are %q, but the hubs in the Capability List are %q", own, hubs)
	}
	self := ""
	for l := range linkheader.Find(links, resourcesync.RelSelf) {
		self = absolute(base, l.Target)
	}
	if self != topic {
		w.add("topic-self", here, section, "the link with the relation self is %q, not %q", self, topic)
	}
}

// absolute returns the absolute URI of the target of a Link header (RFC 8288, section 3.1), or the
// target if it has none.
func absolute(base *url.URL, target string) string {
	if uri, ok := tree.Resolve(base, target); ok {
		return uri
	}
	return target
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
