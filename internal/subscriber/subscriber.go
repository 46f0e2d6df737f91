// Package subscriber is a Destination in tests that subscribes to a topic at a hub,
// over real HTTP, and keeps the notifications that it is sent.
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

// A Subscriber takes the notifications of one topic at a callback of its own.
type Subscriber struct {
	// Answer, if it is not nil, is asked before a notification is taken, and
	// returns the status to answer with; it may take its time. It is set before
	// Subscribe.
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

// A Notification is one that was taken.
type Notification struct {
	Head    rsxml.Head
	Entries []rsxml.Entry
	Body    string
	Link    []string
	Arrived time.Time
}

// New returns a Subscriber with a callback on 127.0.0.1, until the test ends. If
// secret is not empty, it takes only what is signed with it.
func New(t testing.TB, secret string) *Subscriber {
	s := &Subscriber{t: t, secret: secret}
	s.more.L = &s.mu
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// Subscribe asks the hub at the URL given for a topic, and waits until it has
// verified that.
func (s *Subscriber) Subscribe(hub, topic string) {
	s.t.Helper()
	s.mu.Lock()
	s.topic = topic
	before := s.verified
	s.mu.Unlock()
	s.ask(hub, "subscribe")
	s.await("that the subscription is verified", func() bool { return s.verified > before })
}

// ask sends a request to the hub.
func (s *Subscriber) ask(hub, mode string) {
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

// Await waits until enough says that it is, of all that was taken.
func (s *Subscriber) Await(what string, within time.Duration, enough func(taken []*Notification) bool) []*Notification {
	s.t.Helper()
	s.awaitFor(what, within, func() bool { return enough(s.taken) })
	return s.Taken()
}

// AwaitDenied waits until the hub denies the subscription, and returns why.
func (s *Subscriber) AwaitDenied() (reason string) {
	s.t.Helper()
	s.await("that the subscription is denied", func() bool { return s.denied != "" })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// Taken returns the notifications taken so far, in the order of their arrival.
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
			s.t.Fatalf("waited %v for %s; %d notifications taken, denied %q", within, what, len(s.taken), s.denied)
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
		s.t.Errorf("X-Hub-Signature %q is not of the notification", r.Header.Get("X-Hub-Signature"))
	}
	n := &Notification{Body: string(body), Link: r.Header["Link"], Arrived: time.Now()}
	if n.Head, n.Entries, err = rsxml.Decode(strings.NewReader(n.Body), nil); err != nil {
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

// verify answers a hub that asks whether we mean it.
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

// A History is what Change Notifications tell, put together as a Destination does
// that knows that one may come twice.
type History struct {
	Until     time.Time                       // up to where there is no gap
	Resources map[string]*rsxml.Entry         // by URI, what is left of them
	Changes   map[resourcesync.ChangeType]int // told
}

// Replay makes the History of notifications that begins with the first of them.
// They must be in order, but for whole ones that come again, and each must begin
// where the one before it ends.
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
			return nil, fmt.Errorf("notification %d begins at %v; the one before it ended at %v", i, m.From, h.Until)
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
