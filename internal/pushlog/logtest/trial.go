package logtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// tb is the part of *testing.T that rules need.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A trial is one run of a rule.
type trial struct {
	tb
	one, other pushlog.Log
	subject    Subject
	elapsing   time.Duration // spent in elapse
	published  atomic.Int64
}

func newTrial(t tb, s Subject) *trial {
	if s.Elapse == nil {
		s.Elapse = time.Sleep
	}
	return &trial{tb: t, one: s.One, other: s.Other, subject: s}
}

// elapse makes time pass.
func (t *trial) elapse(d time.Duration) {
	started := time.Now()
	t.subject.Elapse(d)
	t.elapsing += time.Since(started)
}

// stopwatch returns a function that returns the time passed since, without that spent in
// elapse. It is long on an overloaded machine only.
func (t *trial) stopwatch() func() time.Duration {
	started, elapsing := time.Now(), t.elapsing
	return func() time.Duration { return time.Since(started) - (t.elapsing - elapsing) }
}

// both returns the store as two processes see it.
func (t *trial) both() []pushlog.Log { return []pushlog.Log{t.one, t.other} }

// publish appends one more notification and returns its number.
func (t *trial) publish(topic string) int64 {
	t.Helper()
	l := t.both()[t.published.Add(1)%2]
	before := state(t, l, topic)
	next := after(before)
	if err := l.Append(t.Context(), pushlog.Notification{Topic: topic, Body: []byte("<urlset/>")}, before, next); err != nil {
		t.Fatalf("Append: %v", err)
	}
	return next.Number
}

// ask returns a request to subscribe.
func ask(topic, callback string) pushlog.Request {
	return pushlog.Request{
		Topic:    topic,
		Callback: "https://" + callback,
		Host:     callback,
		Client:   "192.0.2.1",
		Lease:    time.Hour,
		Made:     time.Now(),
	}
}

func (t *trial) request(r pushlog.Request) {
	t.Helper()
	if err := t.other.Request(t.Context(), r, pushlog.Limits{}); err != nil {
		t.Fatalf("Request: %v", err)
	}
}

func (t *trial) claimRequests(s pushlog.Log, owner string, max int) []pushlog.Request {
	t.Helper()
	claimed, err := s.ClaimRequests(t.Context(), owner, max)
	if err != nil {
		t.Fatalf("ClaimRequests: %v", err)
	}
	return claimed
}

// claimRequest makes a request and claims it. There must be no others.
func (t *trial) claimRequest(r pushlog.Request) pushlog.Request {
	t.Helper()
	t.request(r)
	claimed := t.claimRequests(t.one, ann, 10)
	if len(claimed) != 1 || claimed[0].Callback != r.Callback {
		t.Fatalf("one request was made and %+v can be claimed", claimed)
	}
	return claimed[0]
}

// subscribe creates, renews or ends a subscription, as r requests.
func (t *trial) subscribe(r pushlog.Request, expires time.Time) pushlog.Subscription {
	t.Helper()
	if err := t.one.Apply(t.Context(), ann, t.claimRequest(r), expires); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	s, _ := t.find(r.Topic, r.Callback)
	return s
}

// subscribed creates a subscription that lasts a day.
func (t *trial) subscribed(topic, callback string) pushlog.Subscription {
	t.Helper()
	s := t.subscribe(ask(topic, callback), time.Now().Add(24*time.Hour))
	if s.ID == 0 {
		t.Fatalf("Apply has made no subscription")
	}
	return s
}

// all returns all subscriptions.
func (t *trial) all() []pushlog.Subscription {
	t.Helper()
	var all []pushlog.Subscription
	for s, err := range t.other.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatalf("Subscriptions: %v", err)
		}
		all = append(all, s)
	}
	return all
}

func (t *trial) find(topic, callback string) (pushlog.Subscription, bool) {
	t.Helper()
	for _, s := range t.all() {
		if s.Topic == topic && s.Callback == callback {
			return s, true
		}
	}
	return pushlog.Subscription{}, false
}

func (t *trial) claim(s pushlog.Log, owner string, max int) []pushlog.Subscription {
	t.Helper()
	claimed, err := s.Claim(t.Context(), owner, max)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	return claimed
}

// claimOne claims the only subscription that can be claimed.
func (t *trial) claimOne(s pushlog.Log, owner string) pushlog.Subscription {
	t.Helper()
	claimed := t.claim(s, owner, 10)
	if len(claimed) != 1 {
		t.Fatalf("%d subscriptions can be claimed, want 1: %+v", len(claimed), claimed)
	}
	return claimed[0]
}

// none checks that no subscription can be claimed.
func (t *trial) none(why string) {
	t.Helper()
	for _, s := range t.both() {
		if claimed := t.claim(s, bob, 10); len(claimed) > 0 {
			t.Errorf("a subscription that %s was claimed: %+v", why, claimed)
		}
	}
}

func (t *trial) save(s pushlog.Log, owner string, progress ...pushlog.Progress) []int64 {
	t.Helper()
	lost, err := s.Save(t.Context(), owner, progress)
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	return lost
}

// clear calls Expire and Clear, and returns by topic the notifications that Clear removed
// before every subscription had taken them.
func (t *trial) clear(before time.Time) map[string]pushlog.Dropped {
	t.Helper()
	if err := t.one.Expire(t.Context()); err != nil {
		t.Fatalf("Expire: %v", err)
	}
	all, err := t.other.Clear(t.Context(), map[string][]string{changes: nil, framework: nil}, before, time.Time{})
	if err != nil {
		t.Fatalf("Clear: %v", err)
	}
	dropped := map[string]pushlog.Dropped{}
	for _, d := range all {
		if _, twice := dropped[d.Topic]; twice || d.Messages < 1 {
			t.Errorf("Clear has dropped %+v", all)
		}
		dropped[d.Topic] = d
	}
	return dropped
}

func (t *trial) stale(what string, err error) {
	t.Helper()
	if !errors.Is(err, pushlog.ErrStale) {
		t.Errorf("%s returned %v instead of ErrStale", what, err)
	}
}

// sameTime compares times to the microsecond.
func sameTime(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}

func sameProgress(a, b pushlog.Progress) bool {
	same := sameTime(a.FailingSince, b.FailingSince) && sameTime(a.Retry, b.Retry) && sameTime(a.RefusedSince, b.RefusedSince) && sameTime(a.LastDelivered, b.LastDelivered)
	a.FailingSince, a.Retry, a.RefusedSince, a.LastDelivered = b.FailingSince, b.Retry, b.RefusedSince, b.LastDelivered
	return same && a == b
}
