package logtest

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Watch: wake is called to begin with, and when something new can be claimed.
func watchesClaims(t *trial) {
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
			case <-time.After(watchTimeout):
				t.Fatalf("watcher %d was not woken %s", i+1, what)
			}
			settle(c)
		}
	}
	await("to begin with")
	t.request(ask(changes, "a"))
	await("by a request")
	if err := t.one.Request(t.Context(), ask(changes, "b"), pushlog.Limits{}); err != nil {
		t.Fatalf("Request: %v", err)
	}
	await("by a request from the other process")
	t.claimRequests(t.one, ann, 10)

	t.subscribed(changes, "c")
	t.publish(changes)
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
	case <-time.After(watchTimeout):
		t.Errorf("Watch has not returned")
	}
}
