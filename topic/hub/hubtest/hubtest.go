// Package hubtest is the contract of [hub.Store] as a test suite.
package hubtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A Subject is a store under test.
type Subject struct {
	// One and Other are the store as two processes see it, or the same one
	// again if it is that of one process. What watching needs must be running.
	One, Other hub.Store

	// Elapse makes time pass for the store: its claims are that much older
	// afterwards. If nil, time.Sleep is used, for a minute in all.
	Elapse func(d time.Duration)
}

// Test tests stores by subtests, one for each rule. open is called for each of
// them and returns an empty store.
func Test(t *testing.T, open func(t *testing.T) Subject) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(newTrial(t, open(t)))
		})
	}
}

// A rule is something that the contract demands.
type rule struct {
	name  string
	check func(t *trial)
}

var rules = []rule{
	{"Publish", publishes},
	{"Publish/twice", publishesTwice},
	{"Publish/race", publishesRace},
	{"Messages", messages},
	{"Request", requests},
	{"Request/replaced", requestsReplaced},
	{"Request/limits", requestsLimited},
	{"Request/race", requestsRace},
	{"ClaimRequests", claimsRequests},
	{"ClaimRequests/fair", claimsRequestsFairly},
	{"ClaimRequests/race", claimsRequestsRace},
	{"ClaimRequests/end", claimsOfRequestsEnd},
	{"Apply/new", appliesNew},
	{"Apply/renewal", appliesRenewal},
	{"Apply/end", appliesEnd},
	{"Apply/expired", appliesExpired},
	{"Apply/stale", appliesStale},
	{"Apply/race", appliesRace},
	{"Drop", drops},
	{"Claim", claims},
	{"Claim/order", claimsInOrder},
	{"Claim/retry", claimsAfterRetry},
	{"Claim/race", claimsRace},
	{"Claim/end", claimsEnd},
	{"Save", saves},
	{"Save/renew", savesRenew},
	{"Save/lost", savesLost},
	{"Save/changed", savesChanged},
	{"Save/end", savesEnd},
	{"End", ends},
	{"Subscriptions", subscriptions},
	{"Clear/subscriptions", clearsSubscriptions},
	{"Clear/requests", clearsRequests},
	{"Clear/messages", clearsMessages},
	{"Clear/before", clearsBefore},
	{"Clear/dropped", clearsDropped},
	{"Watch", watches},
	{"Watch/end", watchEnds},
}

// patience is how long to wait for what happens in the background.
const patience = 20 * time.Second

// The topics and owners of the suite.
const (
	changes   = "https://example.org/resourcesync/papers/change/?x=ä"
	framework = "https://example.org/resourcesync/papers/framework/"
	ann       = "ann"
	bob       = "bob"
)

// tb is what rules need of a *testing.T.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A trial is a rule at work.
type trial struct {
	tb
	one, other hub.Store
	subject    Subject
	elapsing   time.Duration // how long elapse has taken
	published  int
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

// A watch tells how much time has passed beside that which elapse has made pass.
// Only on a machine that hardly moves it is much.
func (t *trial) watch() func() time.Duration {
	started, elapsing := time.Now(), t.elapsing
	return func() time.Duration { return time.Since(started) - (t.elapsing - elapsing) }
}

// both are the store as two processes see it.
func (t *trial) both() []hub.Store { return []hub.Store{t.one, t.other} }

// publish publishes one more message, some time ago, and returns its number.
func (t *trial) publish(topic string, ago time.Duration) int64 {
	t.Helper()
	t.published++
	number, err := t.both()[t.published%2].Publish(t.Context(), hub.Message{
		Topic:     topic,
		ID:        fmt.Sprintf("message-%d", t.published),
		Body:      []byte("<urlset/>"),
		Published: time.Now().Add(-ago),
	})
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return number
}

// numbers returns those of all messages of a topic.
func (t *trial) numbers(topic string) []int64 {
	t.Helper()
	found, err := t.other.Messages(t.Context(), topic, 0, 10_000, 1<<30)
	if err != nil {
		t.Fatalf("Messages: %v", err)
	}
	var all []int64
	for _, m := range found {
		all = append(all, m.Number)
	}
	return all
}

// ask returns a request to subscribe.
func ask(topic, callback string) hub.Request {
	return hub.Request{
		Topic:    topic,
		Callback: "https://" + callback,
		Host:     callback,
		Client:   "192.0.2.1",
		Lease:    time.Hour,
		Made:     time.Now(),
	}
}

func (t *trial) request(r hub.Request) {
	t.Helper()
	if err := t.other.Request(t.Context(), r, hub.Limits{}); err != nil {
		t.Fatalf("Request: %v", err)
	}
}

func (t *trial) claimRequests(s hub.Store, owner string, max int) []hub.Request {
	t.Helper()
	claimed, err := s.ClaimRequests(t.Context(), owner, max)
	if err != nil {
		t.Fatalf("ClaimRequests: %v", err)
	}
	return claimed
}

// claimRequest makes a request and claims it. There must be no others.
func (t *trial) claimRequest(r hub.Request) hub.Request {
	t.Helper()
	t.request(r)
	claimed := t.claimRequests(t.one, ann, 10)
	if len(claimed) != 1 || claimed[0].Callback != r.Callback {
		t.Fatalf("one request was made and %+v can be claimed", claimed)
	}
	return claimed[0]
}

// subscribe makes a subscription, or renews it or ends it, as r says.
func (t *trial) subscribe(r hub.Request, expires time.Time) hub.Subscription {
	t.Helper()
	if err := t.one.Apply(t.Context(), ann, t.claimRequest(r), expires); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	s, _ := t.find(r.Topic, r.Callback)
	return s
}

// subscribed makes a subscription that lasts an hour.
func (t *trial) subscribed(topic, callback string) hub.Subscription {
	t.Helper()
	s := t.subscribe(ask(topic, callback), time.Now().Add(time.Hour))
	if s.ID == 0 {
		t.Fatalf("there is no subscription after Apply")
	}
	return s
}

// all returns all subscriptions.
func (t *trial) all() []hub.Subscription {
	t.Helper()
	var all []hub.Subscription
	for s, err := range t.other.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatalf("Subscriptions: %v", err)
		}
		all = append(all, s)
	}
	return all
}

func (t *trial) find(topic, callback string) (hub.Subscription, bool) {
	t.Helper()
	for _, s := range t.all() {
		if s.Topic == topic && s.Callback == callback {
			return s, true
		}
	}
	return hub.Subscription{}, false
}

func (t *trial) claim(s hub.Store, owner string, max int) []hub.Subscription {
	t.Helper()
	claimed, err := s.Claim(t.Context(), owner, max)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	return claimed
}

// claimOne claims all there is, which must be one.
func (t *trial) claimOne(s hub.Store, owner string) hub.Subscription {
	t.Helper()
	claimed := t.claim(s, owner, 10)
	if len(claimed) != 1 {
		t.Fatalf("%d subscriptions can be claimed, and not 1: %+v", len(claimed), claimed)
	}
	return claimed[0]
}

// none holds that nothing can be claimed.
func (t *trial) none(why string) {
	t.Helper()
	for _, s := range t.both() {
		if claimed := t.claim(s, bob, 10); len(claimed) > 0 {
			t.Errorf("what %s was claimed: %+v", why, claimed)
		}
	}
}

func (t *trial) save(s hub.Store, owner string, progress ...hub.Progress) []int64 {
	t.Helper()
	lost, err := s.Save(t.Context(), owner, progress)
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	return lost
}

// clear returns what Clear has dropped too early for somebody, by topic.
func (t *trial) clear(before time.Time) map[string]hub.Dropped {
	t.Helper()
	all, err := t.other.Clear(t.Context(), before)
	if err != nil {
		t.Fatalf("Clear: %v", err)
	}
	dropped := map[string]hub.Dropped{}
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
	if !errors.Is(err, hub.ErrStale) {
		t.Errorf("%s returned %v instead of ErrStale", what, err)
	}
}

// sameTime compares times to the microsecond.
func sameTime(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}

func sameProgress(a, b hub.Progress) bool {
	same := sameTime(a.FailingSince, b.FailingSince) && sameTime(a.Retry, b.Retry)
	a.FailingSince, a.Retry = b.FailingSince, b.Retry
	return same && a == b
}
