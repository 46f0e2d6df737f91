package hub

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Former subscribers are notified that their subscription has ended, and why.
func TestWH31_V24_Withdraw(t *testing.T) {
	f, s, gone := newFront(t, Options{}), newSubscriber(t), newSubscriber(t)
	const kept = "https://example.org/kept/"
	f.Register(kept)
	f.accepted(s.URL + "/?a=b")
	f.accepted(s.URL, "hub.topic", kept)
	f.accepted(gone.URL)
	gone.Close()
	if err := f.Withdraw(t.Context(), "The set is closed & gone.", testTopic); err != nil {
		t.Fatal(err)
	}
	asked := s.requests()
	if last := asked[len(asked)-1]; !strings.HasPrefix(last, "/?a=b&hub.mode=denied&") {
		t.Errorf("told %s", last)
	}
	got := s.last(t)
	if got.Get("hub.topic") != testTopic || got.Get("hub.reason") != "The set is closed & gone." || got.Has("hub.challenge") || len(got) != 4 {
		t.Errorf("told %v", got)
	}
	if subs := f.subscriptions(); len(subs) != 1 || subs[0].Topic != kept {
		t.Errorf("subscriptions %+v", subs)
	}
	if status, text := f.post(s.URL); status != 403 {
		t.Errorf("subscribing again: %d %s", status, text)
	}
}

// A topic is withdrawn while a subscriber is being asked to confirm.
func TestWH31_WithdrawnWhileAsked(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	asked, release := make(chan struct{}), make(chan struct{})
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("hub.mode") == "subscribe" {
			close(asked)
			<-release
		}
		echo(w, r)
	})
	if status, text := f.post(s.URL); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	<-asked
	if err := f.Withdraw(t.Context(), "gone", testTopic); err != nil {
		t.Fatal(err)
	}
	close(release)
	within(t, "the subscriber is told", func() bool { return len(s.requests()) == 2 })
	if got := s.last(t); got.Get("hub.mode") != "denied" || got.Get("hub.reason") != notServed {
		t.Errorf("told %v", got)
	}
	if n := len(f.subscriptions()); n != 0 || f.requestTotals.Load().Verified != 0 {
		t.Errorf("%d subscriptions to a topic that is not served", n)
	}
}

func TestWH31_Deny(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL)
	f.accepted(s.URL + "/other")
	subs := f.subscriptions()
	if err := f.Deny(t.Context(), subs[0].ID, "You ask too much."); err != nil {
		t.Fatal(err)
	}
	if got := s.last(t); got.Get("hub.mode") != "denied" || got.Get("hub.reason") != "You ask too much." {
		t.Errorf("told %v", got)
	}
	if now := f.subscriptions(); len(now) != 1 || now[0].ID != subs[1].ID {
		t.Errorf("subscriptions %+v", now)
	}
	if err := f.Deny(t.Context(), subs[0].ID, ""); !errors.Is(err, ErrNoSubscription) {
		t.Errorf("again: %v", err)
	}
}

// A topic that was withdrawn between request and verification.
func TestWH31_GoneMeanwhile(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	r := pushlog.Request{Topic: "https://example.org/gone/", Callback: s.URL, Host: "x", Lease: time.Hour, Made: time.Now()}
	if err := f.store.Request(t.Context(), r, pushlog.Limits{}); err != nil {
		t.Fatal(err)
	}
	within(t, "a subscriber that is told", func() bool { return len(s.requests()) == 1 })
	if got := s.last(t); got.Get("hub.mode") != "denied" || got.Get("hub.topic") != r.Topic || got.Get("hub.reason") != notServed {
		t.Errorf("told %v", got)
	}
	if len(f.subscriptions()) != 0 {
		t.Error("there is a subscription")
	}

	// Unsubscribing is always accepted, with or without a subscription.
	r.End = true
	if err := f.store.Request(t.Context(), r, pushlog.Limits{}); err != nil {
		t.Fatal(err)
	}
	within(t, "a subscriber that is asked", func() bool { return len(s.requests()) == 2 })
	if got := s.last(t); got.Get("hub.mode") != "unsubscribe" {
		t.Errorf("told %v", got)
	}
}

// A failing store is not the fault of the subscriber, and strangers cannot flood the
// log with its errors.
func TestStoreDown(t *testing.T) {
	f := idleFront(t, Options{})
	store := &failing{Log: f.store}
	f.Hub.store = store
	store.fail(true)
	for range 3 {
		r, _ := http.NewRequest(http.MethodPost, f.url, strings.NewReader("hub.mode=subscribe&hub.topic="+testTopic+"&hub.callback=http://127.0.0.1/?"+testQuery))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, text := f.do(r)
		if status != 503 || strings.Contains(text, errDown.Error()) {
			t.Errorf("%d %s", status, text)
		}
	}
	if log := f.log.String(); strings.Count(log, "level=ERROR") != 1 || strings.Contains(log, testQuery) {
		t.Errorf("log: %s", log)
	}
}
