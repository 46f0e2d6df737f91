package harvesters

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// maxSubscriptions is the maximum number of remembered subscriptions of a harvester.
const maxSubscriptions = 100

// A subscription is the beginning of the SHA-256 of a topic and a callback.
type subscription [16]byte

func newSubscription(topic, callback string) subscription {
	sum := sha256.Sum256([]byte(topic + " " + callback))
	return subscription(sum[:16])
}

// MarshalText implements [encoding.TextMarshaler].
func (s subscription) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *subscription) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(s) {
		return fmt.Errorf("%q is not the hash of a subscription", text)
	}
	copy(s[:], b)
	return nil
}

// subscribe records that h has requested a subscription, or its end. A hub has accepted the form.
func (l *Log) subscribe(h *Harvester, form url.Values) {
	s := newSubscription(form.Get("hub.topic"), sparse.RedactURI(form.Get("hub.callback")))
	if before := l.subscribers[s]; before != nil {
		of := before.Value.(*Harvester)
		l.changed[of.key] = true
		of.subscriptions = slices.DeleteFunc(of.subscriptions, func(other subscription) bool { return other == s })
		delete(l.subscribers, s)
	}
	if form.Get("hub.mode") != "subscribe" || len(h.subscriptions) >= maxSubscriptions {
		return
	}
	h.subscriptions = append(h.subscriptions, s)
	l.subscribers[s] = l.known[h.key]
}

// Subscriber returns the agent and address of the harvester that has requested the subscription to
// a topic with a callback, which is without its query. If no harvester has, ok is false.
func (l *Log) Subscriber(topic, callback string) (agent, address string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.subscribers[newSubscription(topic, callback)]
	if e == nil {
		return "", "", false
	}
	h := e.Value.(*Harvester)
	return h.Agent, h.Address, true
}

// Accepted records that the callback of a subscription has accepted all notifications of the
// changes of a set up to a time.
func (l *Log) Accepted(topic, callback, set string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.subscribers[newSubscription(topic, callback)]; e != nil && !until.IsZero() {
		h := e.Value.(*Harvester)
		p := l.progress(h, set)
		if until.After(p.Proven) {
			l.changed[h.key] = true
		}
		p.Proven, p.Until, p.chain = later(p.Proven, until), later(p.Until, until), later(p.chain, until)
		h.Until = later(h.Until, until)
	}
}
