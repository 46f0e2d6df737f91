package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&Options{SetOptions: scan.SetOptions{AwaitScan: true}})
		ctx, cancel := context.WithCancel(t.Context())
		wakes := 0
		done := make(chan error)
		go func() { done <- s.Watch(ctx, func() { wakes++ }) }()
		after := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			if wakes != want {
				t.Errorf("%d wakes after %s, want %d", wakes, what, want)
			}
		}
		after("the beginning", 1)
		if _, err := s.Scan(t.Context(), listing()); err != nil {
			t.Fatal(err)
		}
		after("the set has become ready", 2)
		put(t, s, resource("a", "1"))
		after("a creation", 3)
		put(t, s, resource("a", "1"))
		if err := s.Delete(ctx, "b"); err != nil {
			t.Error(err)
		}
		after("nothing", 3)
		put(t, s, resource("a", "2"), resource("b", "1"), resource("c", "1"))
		after("three changes in one", 4)
		if err := s.Delete(ctx, "a"); err != nil {
			t.Error(err)
		}
		after("a deletion", 5)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v", err)
		}
		put(t, s, resource("d", "1"))
		after("the end", 5)
	})
}

// TestSlowWatcher checks that a busy watcher delays nobody and misses nothing.
func TestSlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woken, goOn := make(chan struct{}), make(chan struct{})
		seen := 0
		go s.Watch(ctx, func() {
			st, err := s.Stat(ctx, resourcesync.Range{})
			if err == nil {
				seen = int(st.Count)
			}
			select {
			case woken <- struct{}{}:
				<-goOn
			case <-ctx.Done():
			}
		})
		<-woken
		for _, key := range []string{"a", "b", "c"} {
			put(t, s, resource(key, ""))
		}
		goOn <- struct{}{}
		<-woken
		if seen != 3 {
			t.Errorf("%d resources seen, of 3", seen)
		}
		goOn <- struct{}{}
	})
}
