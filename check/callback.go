package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	// verifyTime is the time in which a hub should verify a request.
	verifyTime = 30 * time.Second

	// shortLease is the lease that a check requests, so that a subscription whose
	// cancellation is lost ends soon.
	shortLease = 5 * time.Minute

	// maxChallenge is the maximum length, in bytes, of a challenge that is echoed.
	maxChallenge = 4 << 10
)

// A Callback answers hubs that verify the subscriptions of checks; see [Options]. It is an
// [http.Handler] for all URLs that begin with its own, and safe for concurrent use.
type Callback struct {
	// Wait is the time in which a hub has to verify a request. If zero, it is 30 seconds.
	// It must not change after the first check has begun.
	Wait time.Duration

	url string // ends in a slash

	mu       sync.Mutex
	expected map[string]*intent // by the last element of their paths
}

// NewCallback returns the Callback at the public URL uri, such as
// "https://monitor.example.org/callback/".
func NewCallback(uri string) (*Callback, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("check: %q is not the URL of a callback, like https://monitor.example.org/callback/", uri)
	}
	return &Callback{url: strings.TrimSuffix(u.String(), "/") + "/", expected: make(map[string]*intent)}, nil
}

// An intent is a request that a hub has to verify (WebSub, section 5.3).
type intent struct {
	mode, topic string
	got         chan verification // the first one
}

// A verification is a request of a hub. It is confirmed if the answer was 200 with the
// challenge.
type verification struct {
	query     url.Values
	confirmed bool
}

// expect confirms requests at the URL of token if they have this mode and topic.
func (c *Callback) expect(token, mode, topic string) *intent {
	in := &intent{mode, topic, make(chan verification, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[token] = in
	return in
}

func (c *Callback) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.expected, token)
}

// ServeHTTP implements [http.Handler].
func (c *Callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	c.mu.Lock()
	in := c.expected[path.Base(r.URL.Path)]
	c.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && in == nil:
		reqbody.None(w, r)
		http.Error(w, "There is no such subscription.", http.StatusGone) // a hub may end it
	case r.Method == http.MethodPost: // nobody reads the notification
		reqbody.None(w, r)
		w.WriteHeader(http.StatusAccepted)
	case !reqbody.Get(w, r):
	case in == nil || !in.verify(w, r.URL.Query()):
		http.Error(w, "There is no such subscription.", http.StatusNotFound)
	}
}

// verify answers a verification. It reports false if it is not what is wanted.
func (in *intent) verify(w http.ResponseWriter, q url.Values) bool {
	challenge := q.Get("hub.challenge")
	v := verification{q, q.Get("hub.mode") == in.mode && q.Get("hub.topic") == in.topic && challenge != "" && len(challenge) <= maxChallenge}
	select {
	case in.got <- v:
	default:
	}
	if v.confirmed {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, challenge)
	}
	return v.confirmed
}

// fault returns what is wrong with a verification, or "".
func (in *intent) fault(v verification) string {
	q := v.query
	lease, err := strconv.ParseUint(q.Get("hub.lease_seconds"), 10, 63)
	switch {
	case q.Get("hub.mode") == "denied":
		return fmt.Sprintf("the hub denies it: %.200q", q.Get("hub.reason"))
	case q.Get("hub.mode") != in.mode:
		return fmt.Sprintf("hub.mode is %.200q, not %q", q.Get("hub.mode"), in.mode)
	case q.Get("hub.topic") != in.topic:
		return fmt.Sprintf("hub.topic is %.200q, not %q", q.Get("hub.topic"), in.topic)
	case !v.confirmed:
		return "hub.challenge is empty or very long"
	case in.mode == "subscribe" && (err != nil || lease == 0):
		return fmt.Sprintf("hub.lease_seconds is %.200q, not a number of seconds", q.Get("hub.lease_seconds"))
	}
	return ""
}

// subscribe subscribes to a topic at a hub, and cancels the subscription.
func (w *walker) subscribe(ctx context.Context, hub string, ch child) error {
	c := w.options.Callback
	if c == nil {
		return nil
	}
	token := rand.Text()
	defer c.forget(token)
	for _, mode := range []string{"subscribe", "unsubscribe"} {
		in := c.expect(token, mode, ch.uri)
		form := url.Values{"hub.mode": {mode}, "hub.topic": {ch.uri}, "hub.callback": {c.url + token}}
		if mode == "subscribe" {
			form.Set("hub.lease_seconds", strconv.Itoa(int(shortLease/time.Second)))
		}
		status, text, err := w.ask(ctx, hub, form)
		if err != nil {
			return w.failed(ctx, hub, ch.at, err, "hub-subscription", "")
		}
		if status != http.StatusAccepted {
			w.add("hub-subscription", ch.at, "", "%s answers %d %s to hub.mode=%s: %.200q", hub, status, http.StatusText(status), mode, text)
			return nil
		}
		v, err := in.await(ctx, c.Wait)
		if err != nil {
			return err
		}
		if v == nil {
			w.add("hub-verification", ch.at, "", "%s has accepted hub.mode=%s, and has not sent a request to %s", hub, mode, c.url)
			return nil
		}
		if fault := in.fault(*v); fault != "" {
			w.add("hub-verification", ch.at, "", "%s verifies hub.mode=%s: %s", hub, mode, fault)
		}
		if !v.confirmed {
			return nil
		}
	}
	return nil
}

// await returns the verification of a hub, or nil if there is none in time.
func (in *intent) await(ctx context.Context, wait time.Duration) (*verification, error) {
	if wait == 0 {
		wait = verifyTime
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case v := <-in.got:
		return &v, nil
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
