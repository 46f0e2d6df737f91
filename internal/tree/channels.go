package tree

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Channel sends the notifications of a set (Change Notification 1.0.1, section 5, and
// Framework Notification 1.0.1, section 5).
type Channel struct {
	Capability resourcesync.Capability // change-notification or framework-notification
	Topic      string                  // for WebSub, or ""
	Hubs       []string                // of the topic
	WebSocket  string                  // its ws or wss URL, or "" (section 3 of the 0.8 draft)
}

// maxHubs is the maximum number of hubs of a topic that are used.
const maxHubs = 8

// channel returns the channel of an entry of a Capability List.
func (d *Document) channel(c resourcesync.Capability, e *rsxml.Entry) Channel {
	ch := Channel{Capability: c}
	if isSocket(e.Loc) {
		ch.WebSocket = e.Loc
	} else {
		ch.Topic = e.Loc
	}
	for _, l := range e.Links {
		switch l.Rel {
		case resourcesync.RelHub:
			if uri, ok := d.resolve(l.Href, isHTTP); ok && len(ch.Hubs) < maxHubs {
				ch.Hubs = append(ch.Hubs, uri)
			}
		case resourcesync.RelAlternate:
			if uri, ok := d.resolve(l.Href, isSocket); ok && ch.WebSocket == "" {
				ch.WebSocket = uri
			}
		}
	}
	return ch
}

// Hubs requests the topic of ch, and returns the hubs and the canonical URI of the topic that
// its Link headers name (WebSub, section 4). Without them, it returns the hubs and the topic of ch.
func (r *Reader) Hubs(ctx context.Context, ch Channel) (hubs []string, topic string, err error) {
	d, err := r.Client.Document(ctx, ch.Topic, fetch.Validators{})
	if err != nil {
		return ch.Hubs, ch.Topic, err
	}
	defer d.Close()
	links := linkheader.Parse(d.Header.Values("Link")...)
	for l := range linkheader.Find(links, resourcesync.RelHub) {
		if len(hubs) < maxHubs {
			hubs = appendAbsolute(hubs, l.Target, d.URL)
		}
	}
	if len(hubs) == 0 {
		return ch.Hubs, ch.Topic, nil
	}
	topic = ch.Topic
	for l := range linkheader.Find(links, resourcesync.RelSelf) {
		if self := appendAbsolute(nil, l.Target, d.URL); len(self) == 1 {
			topic = self[0]
		}
	}
	return hubs, topic, nil
}

// Notification reads the head of a notification. Relative URIs in it are resolved against
// base.
func (r *Reader) Notification(base string, body []byte) (*Document, error) {
	return r.decode(&fetch.Document{
		Reader: bytes.NewReader(body), Closer: io.NopCloser(nil), URL: base, Header: http.Header{},
	})
}

func isSocket(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "ws") || strings.EqualFold(scheme, "wss")
}

// isAddress reports whether something can be requested or connected at uri.
func isAddress(uri string) bool { return isHTTP(uri) || isSocket(uri) }
