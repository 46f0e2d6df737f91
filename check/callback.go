package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/callback"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const (
	// verifyTime is the time in which a hub should verify a request.
	verifyTime = 30 * time.Second

	// shortLease is the lease that a check requests, so that a subscription whose
	// cancellation is lost ends soon.
	shortLease = 5 * time.Minute
)

// A Callback answers hubs that verify the subscriptions of checks; see [Options]. It is an
// [http.Handler] for all URLs that begin with its own, and safe for concurrent use.
type Callback struct {
	// Wait is the time in which a hub has to verify a request. If zero, it is 30 seconds.
	// It must not change after the first check has begun.
	Wait time.Duration

	mux *callback.Mux[*intent]
}

// NewCallback returns the Callback at the public URL uri, such as
// "https://monitor.example.org/callback/".
func NewCallback(uri string) (*Callback, error) {
	mux, err := callback.New[*intent](uri)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return &Callback{mux: mux}, nil
}

// ServeHTTP implements [http.Handler].
func (c *Callback) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

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

// Deliver implements [callback.Subscription]. The notification is not read.
func (in *intent) Deliver(w http.ResponseWriter, r *http.Request) {
	reqbody.None(w, r)
	w.WriteHeader(http.StatusAccepted)
}

// Verify implements [callback.Subscription].
func (in *intent) Verify(w http.ResponseWriter, q url.Values) bool {
	v := verification{q, callback.Confirms(q, in.mode, in.topic)}
	select {
	case in.got <- v:
	default:
	}
	if v.confirmed {
		callback.Confirm(w, q)
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
	for _, mode := range []string{"subscribe", "unsubscribe"} {
		in := &intent{mode, ch.uri, make(chan verification, 1)}
		c.mux.Set(token, in)
		defer c.mux.Remove(token, in)
		form := url.Values{"hub.mode": {mode}, "hub.topic": {ch.uri}, "hub.callback": {c.mux.URL + token}}
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
			w.add("hub-verification", ch.at, "", "%s has accepted hub.mode=%s, and has not sent a request to %s", hub, mode, c.mux.URL)
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
