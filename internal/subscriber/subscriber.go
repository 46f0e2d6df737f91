// Package subscriber implements a WebSub subscriber for tests. It subscribes to a topic
// at a hub over real HTTP and keeps the notifications that it receives.
package subscriber

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Subscriber receives the notifications of one topic at its callback.
type Subscriber struct {
	// Answer, if not nil, returns the status with which to answer a notification.
	// It may block. Notifications with a status other than 2xx are not kept. Set
	// it before Subscribe.
	Answer func(n *Notification) int

	t      testing.TB
	server *httptest.Server
	secret string

	mu       sync.Mutex
	more     sync.Cond
	topic    string
	verified int
	denied   string
	taken    []*Notification
}

// A Notification is a notification that a Subscriber has received.
type Notification struct {
	Head    rsxml.Head
	Entries []rsxml.Entry
	Body    string
	Header  http.Header
	Arrived time.Time
}

// New returns a Subscriber with a callback on 127.0.0.1 that exists until the test
// ends. If secret is not empty, a notification that is not signed with it fails the
// test.
func New(t testing.TB, secret string) *Subscriber {
	s := &Subscriber{t: t, secret: secret}
	s.more.L = &s.mu
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// Subscribe subscribes to topic at the hub with the given URL, and waits until the hub
// has verified the subscription.
func (s *Subscriber) Subscribe(hub, topic string) {
	s.t.Helper()
	s.mu.Lock()
	s.topic = topic
	before := s.verified
	s.mu.Unlock()
	s.request(hub, "subscribe")
	s.await("the verification of the subscription", func() bool { return s.verified > before })
}

// request sends a subscription request to the hub.
func (s *Subscriber) request(hub, mode string) {
	s.t.Helper()
	form := url.Values{"hub.mode": {mode}, "hub.topic": {s.topic}, "hub.callback": {s.server.URL + "/callback?of=test"}}
	if s.secret != "" {
		form.Set("hub.secret", s.secret)
	}
	res, err := http.PostForm(hub, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusAccepted {
		s.t.Fatalf("the hub answers %s %s", res.Status, body)
	}
}

// Await waits until enough reports true for the notifications received so far, and
// returns them. After the duration within, it fails the test.
func (s *Subscriber) Await(what string, within time.Duration, enough func(taken []*Notification) bool) []*Notification {
	s.t.Helper()
	s.awaitFor(what, within, func() bool { return enough(s.taken) })
	return s.Taken()
}

// AwaitDenied waits until the hub denies the subscription, and returns the reason.
func (s *Subscriber) AwaitDenied() (reason string) {
	s.t.Helper()
	s.await("the denial of the subscription", func() bool { return s.denied != "" })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// Taken returns the notifications received so far, in the order of their arrival.
func (s *Subscriber) Taken() []*Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[:len(s.taken):len(s.taken)]
}

func (s *Subscriber) await(what string, done func() bool) {
	s.t.Helper()
	s.awaitFor(what, 30*time.Second, done)
}

func (s *Subscriber) awaitFor(what string, within time.Duration, done func() bool) {
	s.t.Helper()
	late := time.AfterFunc(within, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.more.Broadcast()
	})
	defer late.Stop()
	deadline := time.Now().Add(within)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() {
		if !time.Now().Before(deadline) {
			s.t.Fatalf("waited %v for %s; received %d notifications, denied %q", within, what, len(s.taken), s.denied)
		}
		s.more.Wait()
	}
}

// ServeHTTP is the callback.
func (s *Subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.verify(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.secret != "" && r.Header.Get("X-Hub-Signature") != "sha256="+sign(s.secret, body) {
		s.t.Errorf("X-Hub-Signature %q does not match the notification", r.Header.Get("X-Hub-Signature"))
	}
	n := &Notification{Body: string(body), Header: r.Header, Arrived: time.Now()}
	if n.Head, n.Entries, err = rsxml.Decode(strings.NewReader(n.Body)); err != nil {
		s.t.Errorf("a notification: %v\n%s", err, body)
	}
	if s.Answer != nil {
		if status := s.Answer(n); status/100 != 2 {
			w.WriteHeader(status)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, n)
	s.more.Broadcast()
	w.WriteHeader(http.StatusNoContent)
}

// verify answers a verification of intent (WebSub, section 5.3) or a denial (5.2).
func (s *Subscriber) verify(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	switch {
	case q.Get("hub.mode") == "denied":
		s.denied = q.Get("hub.reason")
	case q.Get("hub.topic") != s.topic || q.Get("of") != "test":
		w.WriteHeader(http.StatusNotFound)
		return
	default:
		s.verified++
		io.WriteString(w, q.Get("hub.challenge"))
	}
	s.more.Broadcast()
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// A History is the result of applying Change Notifications in order, as a Destination
// does that ignores repeated ones.
type History struct {
	Until     time.Time                       // the end of the last notification
	Resources map[string]*rsxml.Entry         // by URI, without deleted resources
	Changes   map[resourcesync.ChangeType]int // number of changes by type
}

// Replay applies notifications, which must be in order. Each must begin where the
// previous one ends; identical notifications may be repeated.
func Replay(notifications []*Notification) (*History, error) {
	h := &History{Resources: map[string]*rsxml.Entry{}, Changes: map[resourcesync.ChangeType]int{}}
	seen := map[string]bool{}
	var last time.Time
	for i, n := range notifications {
		if seen[n.Body] {
			continue
		}
		seen[n.Body] = true
		m := n.Head.Metadata
		if m.Capability != resourcesync.ChangeNotification || !m.From.Before(m.Until) || len(n.Entries) == 0 {
			return nil, fmt.Errorf("notification %d is %+v with %d entries", i, m, len(n.Entries))
		}
		if !h.Until.IsZero() && !m.From.Equal(h.Until) {
			return nil, fmt.Errorf("notification %d begins at %v; the previous one ended at %v", i, m.From, h.Until)
		}
		h.Until = m.Until
		for _, e := range n.Entries {
			at := e.Metadata.Datetime
			if !at.After(m.From) || at.After(m.Until) || at.Before(last) {
				return nil, fmt.Errorf("a change at %v after %v in a notification from %v until %v", at, last, m.From, m.Until)
			}
			last = at
			h.Changes[e.Metadata.Change]++
			if e.Metadata.Change == resourcesync.Deleted {
				delete(h.Resources, e.Loc)
			} else {
				h.Resources[e.Loc] = &e
			}
		}
	}
	return h, nil
}
