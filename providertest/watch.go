package providertest

import (
	"context"
	"errors"
	"time"
)

var watchRules = []rule{
	{"Watch/wake", "Watcher", needs{watcher, editing}, watchWake, "wake is called after each change"},
	{"Watch/end", "Watcher", needs{watcher}, watchEnd, "it returns when its context is done, and not before"},
}

// watch starts watching. The function it returns waits, and reports whether wake has been
// called. It fails if Watch has returned.
func (s *subject) watch(ctx context.Context) (woken func(wait time.Duration) bool, done <-chan error) {
	w, d := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		d <- s.Watcher.Watch(ctx, func() {
			select {
			case w <- struct{}{}:
			default:
			}
		})
	}()
	return func(wait time.Duration) bool {
		select {
		case <-w:
			return true
		case err := <-d:
			fail("Watch returned %v before its context was done", err)
		case <-time.After(wait):
		}
		return false
	}, d
}

func watchWake(ctx context.Context, s *subject) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken, _ := s.watch(ctx)
	// Changes before the watch is established need not cause a wake.
	key := s.spare(ctx, 1)[0]
	const tries = 10
	for i, awake := 0, false; !awake; i++ {
		if i > tries {
			fail("wake has not been called within %v, after several changes", s.Wait)
		}
		s.put(ctx, s.make(key))
		awake = woken(s.Wait / tries)
	}
	// A late wake for the last change must not count for the next one. A provider
	// that wakes all the time passes.
	settle := func() {
		for i := 0; i < 100 && woken(s.Wait/1000); i++ {
		}
	}
	settle()
	s.live(ctx, func(edit) {
		if !woken(s.Wait) {
			fail("wake has not been called within %v", s.Wait)
		}
		settle()
	})
}

func watchEnd(ctx context.Context, s *subject) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, done := s.watch(ctx)
	select {
	case err := <-done:
		fail("Watch returned %v before its context was done", err)
	case <-time.After(s.Wait / 100):
	}
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) {
			fail("Watch returned %w when its context was done", err)
		}
	case <-time.After(s.Wait):
		fail("Watch has not returned within %v of the end of its context", s.Wait)
	}
}
