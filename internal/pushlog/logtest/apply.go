package logtest

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A new subscription has the fields of its request.
func appliesNew(t *trial) {
	check := func(r pushlog.Request, taken int64) {
		t.Helper()
		expires := time.Now().Add(time.Hour)
		started := time.Now()
		got := t.subscribe(r, expires)
		if !sameTime(got.Expires, expires) {
			t.Errorf("a subscription expires at %v, want %v", got.Expires, expires)
		}
		if got.Made.Before(started.Add(-time.Minute)) || got.Made.After(time.Now().Add(time.Minute)) {
			t.Errorf("a subscription made at %v has the time %v", started, got.Made)
		}
		if got.ID == 0 || got.Topic != r.Topic || got.Callback != r.Callback || got.Host != r.Host ||
			!bytes.Equal(got.Secret, r.Secret) || (got.Secret == nil) != (r.Secret == nil) {
			t.Errorf("request %+v led to subscription %+v", r, got)
		}
		if got.Progress != (pushlog.Progress{ID: got.ID, Cursor: pushlog.Cursor{Taken: taken}}) {
			t.Errorf("newest message %d: a new subscription has the progress %+v", taken, got.Progress)
		}
	}
	r := ask(changes, "example.org/cb?a=%20&b=\xff")
	r.Secret = []byte("\x00\xffgeheim")
	check(r, 0)
	newest := t.publish(changes)
	check(ask(changes, "second"), newest)
	check(ask(framework, "second"), 0)
	if n := len(t.all()); n != 3 {
		t.Errorf("three subscriptions were made, got %d", n)
	}
	if got := t.claimRequests(t.other, bob, 10); len(got) != 0 {
		t.Errorf("a request can be claimed after Apply: %+v", got)
	}
}

// A renewed subscription has its new lease and secret, keeps its cursor, and can be claimed
// at once.
func appliesRenewal(t *trial) {
	old := t.subscribed(changes, "a")
	t.publish(changes)
	p := t.claimOne(t.one, ann).Progress
	p.Failures, p.FailingSince, p.LastError, p.Retry = 2, time.Now(), "500", time.Now().Add(time.Hour)
	p.Delivered, p.GivenUp, p.LastGivenUp, p.Release = 5, 1, 4, true
	p.LastDelivered = time.Now().Add(-time.Minute)
	t.save(t.one, ann, p)
	p.Retry, p.Release = time.Time{}, false

	r := ask(changes, "a")
	r.Secret = []byte("new")
	expires := time.Now().Add(2 * time.Hour)
	got := t.subscribe(r, expires)
	if got.ID != old.ID || !sameTime(got.Made, old.Made) {
		t.Errorf("a renewed subscription is %+v, want %+v", got, old)
	}
	if !sameTime(got.Expires, expires) || string(got.Secret) != "new" {
		t.Errorf("a renewed subscription lacks its new lease or secret: %+v", got)
	}
	if !sameProgress(got.Progress, p) {
		t.Errorf("renewing a subscription has changed its progress from %+v to %+v", p, got.Progress)
	}
	t.claimOne(t.other, bob)
	if got := t.subscribe(ask(changes, "a"), expires); got.Secret != nil {
		t.Errorf("a subscription renewed without a secret has the secret %q", got.Secret)
	}
	if n := len(t.all()); n != 1 {
		t.Errorf("a renewed subscription exists %d times", n)
	}
}

// A request to unsubscribe ends the subscription and no other. It is not an error if there
// is none.
func appliesEnd(t *trial) {
	t.subscribed(changes, "a")
	t.subscribed(changes, "b")
	t.subscribed(framework, "a")
	end := ask(changes, "a")
	end.End = true
	for range 2 {
		t.subscribe(end, time.Now().Add(time.Hour))
		if _, found := t.find(changes, "https://a"); found {
			t.Errorf("a subscription that has ended still exists")
		}
		if n := len(t.all()); n != 2 {
			t.Errorf("one of three subscriptions has ended, %d are left", n)
		}
	}
}

// A subscription that has expired but not been removed starts over.
func appliesExpired(t *trial) {
	old := t.subscribe(ask(changes, "a"), time.Now().Add(-time.Second))
	newest := t.publish(changes)
	got := t.subscribe(ask(changes, "a"), time.Now().Add(time.Hour))
	if got.ID == old.ID || got.Progress.Taken != newest {
		t.Errorf("a subscription that follows an expired one is %+v; the expired one was %+v", got, old)
	}
	if n := len(t.all()); n != 1 {
		t.Errorf("one topic and callback have %d subscriptions", n)
	}
}

// Only the owner of the claim of a request can apply it, and only once.
func appliesStale(t *trial) {
	expires := time.Now().Add(time.Hour)
	r := t.claimRequest(ask(changes, "a"))
	t.stale("Apply by another", t.one.Apply(t.Context(), bob, r, expires))
	if n := len(t.all()); n != 0 {
		t.Errorf("a stale Apply has made a subscription")
	}
	if err := t.other.Apply(t.Context(), ann, r, expires); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	t.stale("Apply of what has been applied", t.one.Apply(t.Context(), ann, r, expires.Add(time.Hour)))
	if all := t.all(); len(all) != 1 || !sameTime(all[0].Expires, expires) {
		t.Errorf("a stale Apply has changed the subscriptions to %+v", all)
	}
}

// A subscription that is created while notifications are appended receives each later
// notification exactly once.
func appliesRace(t *trial) {
	var wg sync.WaitGroup
	r := t.claimRequest(ask(changes, "a"))
	wg.Go(func() {
		for range 10 {
			t.publish(changes)
		}
	})
	wg.Go(func() {
		if err := t.one.Apply(t.Context(), ann, r, time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Apply: %v", err)
		}
	})
	wg.Wait()
	s, _ := t.find(changes, "https://a")
	newest := numbers(t, t.one, changes)
	if claimed := t.claim(t.one, ann, 10); (len(claimed) == 1) != (s.Progress.Taken < newest[len(newest)-1]) {
		t.Errorf("with the messages %d, a subscription begins after %d, and %+v can be claimed", newest, s.Progress.Taken, claimed)
	}
}

// A new subscription begins after the newest notification when it was requested, because the
// subscriber confirms before Apply. A repeated request does not move the beginning, and Clear keeps
// the notifications after it.
func appliesBegin(t *trial) {
	other := t.subscribed(changes, "other")
	newest := t.publish(changes)
	t.request(ask(changes, "a"))
	t.publish(changes)
	t.request(ask(changes, "a"))
	last := t.publish(changes)
	if err := t.one.End(t.Context(), other.ID); err != nil {
		t.Fatalf("End: %v", err)
	}
	remove(t, t.other, nil, long, time.Now().Add(time.Hour))
	got := t.subscribe(ask(changes, "a"), time.Now().Add(time.Hour))
	if got.Progress.Taken != newest {
		t.Errorf("requested after notification %d, a subscription begins after %d", newest, got.Progress.Taken)
	}
	if kept := numbers(t, t.one, changes); !slices.Equal(kept, []int64{newest + 1, last}) {
		t.Errorf("the log has %d, and a request waits for those after %d", kept, newest)
	}

	end := ask(changes, "b")
	end.End = true
	t.request(end)
	newest = t.publish(changes)
	if got := t.subscribe(ask(changes, "b"), time.Now().Add(time.Hour)); got.Progress.Taken != newest {
		t.Errorf("requested after notification %d, in place of a request to unsubscribe, a subscription begins after %d", newest, got.Progress.Taken)
	}
}
