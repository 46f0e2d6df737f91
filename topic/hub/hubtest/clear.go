package hubtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// subscriptions: those that have expired are removed, and only those.
func clearsSubscriptions(t *trial) {
	t.subscribed(changes, "a")
	t.subscribe(ask(changes, "expired"), time.Now().Add(-time.Second))
	t.subscribe(ask(framework, "expired"), time.Now().Add(-time.Hour))
	t.clear(time.Time{})
	if all := t.all(); len(all) != 1 || all[0].Callback != "https://a" {
		t.Errorf("one of three has not expired and there are %+v", all)
	}
	if err := t.one.Request(t.Context(), ask(changes, "b"), hub.Limits{Topic: 2}); err != nil {
		t.Errorf("what has been cleared away counts for limits: %v", err)
	}
}

// requests: those older than an hour are removed, claimed or not.
func clearsRequests(t *trial) {
	for callback, age := range map[string]time.Duration{"new": 0, "old": 59 * time.Minute, "ancient": 61 * time.Minute} {
		r := ask(changes, callback)
		r.Made = time.Now().Add(-age)
		t.request(r)
	}
	var ancient hub.Request
	for _, r := range t.claimRequests(t.one, ann, 10) {
		if r.Callback == "https://ancient" {
			ancient = r
		}
	}
	r := ask(framework, "ancient, too")
	r.Made = time.Now().Add(-2 * time.Hour)
	t.request(r)
	t.clear(time.Time{})
	t.stale("Apply of a request that was cleared away", t.one.Apply(t.Context(), ann, ancient, time.Now().Add(time.Hour)))
	t.elapse(hub.VerifyTime + time.Millisecond)
	var got []string
	for _, r := range t.claimRequests(t.one, bob, 10) {
		got = append(got, r.Callback)
	}
	slices.Sort(got)
	if want := []string{"https://new", "https://old"}; !slices.Equal(got, want) {
		t.Errorf("after Clear there are requests of %q instead of %q", got, want)
	}
}

// left compares the messages of a topic that are left.
func (t *trial) left(topic string, want ...int64) {
	t.Helper()
	if got := t.numbers(topic); !slices.Equal(got, want) {
		t.Errorf("after Clear the messages %d are left instead of %d", got, want)
	}
}

// messages: what every subscription has taken is removed, but for the newest of a
// topic and what was published in the last hour.
func clearsMessages(t *trial) {
	t.subscribed(changes, "quick")
	slow := t.subscribed(changes, "slow")
	var old, none []int64
	for range 4 {
		old = append(old, t.publish(changes, 2*time.Hour))
		none = append(none, t.publish(framework, 2*time.Hour))
	}
	recent := t.publish(changes, 59*time.Minute)
	newest := t.publish(changes, 50*time.Minute)
	long := time.Now().AddDate(-1, 0, 0)
	var progress []hub.Progress
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		if p.Taken = newest; s.ID == slow.ID {
			p.Taken = old[1]
		}
		p.Release = s.ID != slow.ID
		progress = append(progress, p)
	}
	t.save(t.one, ann, progress...)
	if dropped := t.clear(long); len(dropped) != 0 {
		t.Errorf("of what nobody was to take, Clear has dropped %+v", dropped)
	}
	t.left(changes, old[2], old[3], recent, newest)
	t.left(framework, none[3]) // nobody subscribes

	// One who has expired holds nothing up, and neither does one who is failing.
	t.subscribe(ask(changes, "slow"), time.Now().Add(-time.Second))
	t.clear(long)
	t.left(changes, recent, newest)

	// What is left is recognised.
	for _, m := range []hub.Message{
		{Topic: changes, ID: "message-9", Published: time.Now()},
		{Topic: changes, ID: "message-10", Published: time.Now()},
		{Topic: framework, ID: "message-8", Published: time.Now()},
	} {
		if _, err := t.one.Publish(t.Context(), m); err != nil {
			t.Fatalf("Publish: %v", err)
		}
	}
	t.left(changes, recent, newest)
	t.left(framework, none[3])
	if next := t.publish(framework, 0); next <= none[3] {
		t.Errorf("after Clear, number %d comes after %d", next, none[3])
	}
}

// before: what was published before the time given is removed, whoever waits for
// it, but for the newest and what was published in the last hour.
func clearsBefore(t *trial) {
	t.subscribed(changes, "a")
	t.subscribed(framework, "a")
	var numbers []int64
	for _, age := range []time.Duration{5 * time.Hour, 4 * time.Hour, 2 * time.Hour, 30 * time.Minute, time.Minute} {
		numbers = append(numbers, t.publish(changes, age))
	}
	only := t.publish(framework, 5*time.Hour)
	t.clear(time.Now().Add(-3 * time.Hour))
	t.left(changes, numbers[2:]...)
	t.clear(time.Now())
	t.left(changes, numbers[3:]...)
	t.left(framework, only)
	for _, s := range t.claim(t.one, ann, 10) {
		if s.Progress.Taken != 0 {
			t.Errorf("Clear has changed %+v", s)
		}
		found, err := t.one.Messages(t.Context(), s.Topic, s.Progress.Taken, 1, 1<<20)
		if err != nil || len(found) != 1 {
			t.Errorf("for one whose messages were dropped there are %v, %v", found, err)
		}
	}
}

// dropped: Clear tells how much it has removed that somebody had not taken.
func clearsDropped(t *trial) {
	subs := map[string]hub.Subscription{}
	for _, callback := range []string{"none", "some", "more", "all", "expired"} {
		expires := time.Now().Add(time.Hour)
		if callback == "expired" {
			expires = time.Now().Add(-time.Second)
		}
		subs[callback] = t.subscribe(ask(changes, callback), expires)
	}
	t.subscribed(framework, "none")
	const old = 250 // more than a batch of any store
	var numbers []int64
	for range old {
		numbers = append(numbers, t.publish(changes, 5*time.Hour))
	}
	newest := t.publish(changes, 0)
	only := t.publish(framework, 5*time.Hour)
	var progress []hub.Progress
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		switch p.Release = true; s.ID {
		case subs["some"].ID:
			p.Taken = numbers[19]
			p.Failures, p.Retry = 1, time.Now().Add(time.Hour)
		case subs["more"].ID:
			p.Taken = numbers[219]
		case subs["all"].ID:
			p.Taken = newest
		}
		progress = append(progress, p)
	}
	t.save(t.one, ann, progress...)
	t.claim(t.one, bob, 2) // claimed or not, they have not taken it

	dropped := t.clear(time.Now().Add(-3 * time.Hour))
	want := hub.Dropped{Topic: changes, Messages: old, Subscriptions: 3, Deliveries: old + (old - 20) + (old - 220)}
	if len(dropped) != 1 || dropped[changes] != want {
		t.Errorf("dropped are %+v instead of %+v", dropped, want)
	}
	t.left(changes, newest)
	t.left(framework, only)
	if dropped := t.clear(time.Now()); len(dropped) != 0 {
		t.Errorf("Clear has dropped %+v again", dropped)
	}
}

// Watch: wake is called to begin with, and when something new can be claimed.
func watches(t *trial) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var woken []chan struct{}
	done := make(chan error, 2)
	for _, s := range t.both() {
		c := make(chan struct{}, 1)
		woken = append(woken, c)
		go func() {
			done <- s.Watch(ctx, func() {
				select {
				case c <- struct{}{}:
				default:
				}
			})
		}()
	}
	// What wakes twice for one thing must not pass for the next.
	settle := func(c chan struct{}) {
		for {
			select {
			case <-c:
			case <-time.After(100 * time.Millisecond):
				return
			}
		}
	}
	await := func(what string) {
		t.Helper()
		for i, c := range woken {
			select {
			case <-c:
			case err := <-done:
				t.Fatalf("Watch returned %v", err)
			case <-time.After(patience):
				t.Fatalf("watcher %d was not woken %s", i+1, what)
			}
			settle(c)
		}
	}
	await("to begin with")
	t.publish(changes, 0)
	await("by a message")
	t.publish(changes, 0)
	await("by a message from the other process")
	t.request(ask(changes, "a"))
	await("by a request")
	if err := t.one.Request(t.Context(), ask(changes, "b"), hub.Limits{}); err != nil {
		t.Fatalf("Request: %v", err)
	}
	await("by a request from the other process")
	t.claimRequests(t.one, ann, 10)

	t.subscribed(changes, "c")
	t.publish(changes, 0)
	p := t.claimOne(t.one, ann).Progress
	t.subscribe(ask(changes, "c"), time.Now().Add(time.Hour))
	for _, c := range woken {
		settle(c)
	}
	t.save(t.one, ann, p)
	await("by a subscription that was changed and is to be claimed anew")
}

// end: Watch returns when its context is done, with its error.
func watchEnds(t *trial) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- t.one.Watch(ctx, func() {}) }()
	select {
	case err := <-done:
		t.Fatalf("Watch returned %v before its context was done", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v when its context was done", err)
		}
	case <-time.After(patience):
		t.Errorf("Watch has not returned")
	}
}
