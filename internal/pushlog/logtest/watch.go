package logtest

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// watchers watch a log, each as another process.
type watchers struct {
	woken []chan struct{}
	done  chan error // the results of Watch
}

// watchAll watches logs until ctx ends.
func watchAll(ctx context.Context, logs ...pushlog.Log) *watchers {
	w := &watchers{done: make(chan error, len(logs))}
	for _, l := range logs {
		c := make(chan struct{}, 1)
		w.woken = append(w.woken, c)
		go func() { w.done <- l.Watch(ctx, func() { background.Signal(c) }) }()
	}
	return w
}

// await waits until all watchers have been woken, and settles.
func (w *watchers) await(t tb, what string) {
	t.Helper()
	for i, c := range w.woken {
		select {
		case <-c:
		case err := <-w.done:
			t.Fatalf("Watch returned %v", err)
		case <-time.After(watchTimeout):
			t.Fatalf("watcher %d was not woken %s", i+1, what)
		}
	}
	w.settle()
}

// settle waits until no watcher is woken: a second call of wake for one event must
// not count for the next event.
func (w *watchers) settle() {
	for _, c := range w.woken {
		for settled := false; !settled; {
			select {
			case <-c:
			case <-time.After(100 * time.Millisecond):
				settled = true
			}
		}
	}
}

// Watch calls wake at the beginning, and when something new can be claimed.
func watchesClaims(t *trial) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := watchAll(ctx, t.both()...)
	await := func(what string) {
		t.Helper()
		w.await(t, what)
	}
	await("at the beginning")
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
	w.settle()
	t.save(t.one, ann, p)
	await("when a changed subscription could be claimed again")
}

// Watch returns the error of its context when that is done.
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
