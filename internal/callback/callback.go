// Package callback has the common parts of WebSub callbacks: a URL for each subscription, and the
// verification of intent (WebSub, section 5.3).
package callback

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// maxChallenge is the maximum length, in bytes, of a challenge that is echoed.
const maxChallenge = 4 << 10

// A Mux routes the requests of hubs to subscriptions. It is safe for concurrent use.
type Mux[S Subscription] struct {
	// URL is the URL of the callback, and ends in a slash. The URL of a subscription is URL and
	// its token.
	URL string

	mu            sync.Mutex
	subscriptions map[string]S // by token
}

// A Subscription is the receiver of the requests to one URL.
type Subscription interface {
	comparable

	// Deliver answers a notification.
	Deliver(w http.ResponseWriter, r *http.Request)

	// Verify answers a verification of intent with these parameters. It reports false, and sends
	// no answer, if the subscription does not want what the hub verifies.
	Verify(w http.ResponseWriter, q url.Values) bool
}

// New returns the Mux at the public URL uri.
func New[S Subscription](uri string) (*Mux[S], error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the URL of a callback, like https://mirror.example.org/callback/", uri)
	}
	return &Mux[S]{URL: strings.TrimSuffix(u.String(), "/") + "/", subscriptions: make(map[string]S)}, nil
}

// Set makes s receive the requests to the URL of token.
func (m *Mux[S]) Set(token string, s S) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscriptions[token] = s
}

// Remove removes s, unless token has another subscription by now.
func (m *Mux[S]) Remove(token string, s S) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.subscriptions[token] == s {
		delete(m.subscriptions, token)
	}
}

// ServeHTTP answers a hub. A hub may end a subscription whose URL answers 410.
func (m *Mux[S]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	m.mu.Lock()
	s, known := m.subscriptions[path.Base(r.URL.Path)]
	m.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && known:
		s.Deliver(w, r)
	case r.Method == http.MethodPost:
		reqbody.None(w, r)
		http.Error(w, "Unknown subscription.", http.StatusGone)
	case !reqbody.Get(w, r):
	case !known || !s.Verify(w, r.URL.Query()):
		http.Error(w, "Unknown subscription.", http.StatusNotFound)
	}
}

// Confirms reports whether a verification has this mode and topic, and a challenge that can be
// echoed.
func Confirms(q url.Values, mode, topic string) bool {
	challenge := q.Get("hub.challenge")
	return q.Get("hub.mode") == mode && q.Get("hub.topic") == topic && challenge != "" && len(challenge) <= maxChallenge
}

// Confirm echoes the challenge of a verification.
func Confirm(w http.ResponseWriter, q url.Values) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, q.Get("hub.challenge"))
}
