package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var watchRules = []rule{
	{"Watch/wake", watcher | editing, watchWake},
	{"Watch/end", watcher, watchEnd},
}

// watch starts watching. woken receives a value after wakes, and done the result.
func (s *subject) watch(ctx context.Context) (woken <-chan struct{}, done <-chan error) {
	w, d := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		d <- s.watcher.Watch(ctx, func() {
			select {
			case w <- struct{}{}:
			default:
			}
		})
	}()
	return w, d
}

// wake: wake is called after each change.
func watchWake(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken, done := s.watch(ctx)
	await := func(wait time.Duration) (bool, error) {
		select {
		case <-woken:
			return true, nil
		case err := <-done:
			return false, fmt.Errorf("Watch returned %v before its context was done", err)
		case <-time.After(wait):
			return false, nil
		}
	}
	// Changes before the watch is established need not cause a wake.
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	const tries = 10
	for i := 0; ; i++ {
		if err := s.put(ctx, s.make(keys[0])); err != nil {
			return err
		}
		if ok, err := await(s.opts.Wait / tries); err != nil {
			return err
		} else if ok {
			break
		} else if i == tries {
			return fmt.Errorf("wake has not been called within %v, after several changes", s.opts.Wait)
		}
	}
	// A late wake for the last change must not count for the next one. A provider
	// that wakes all the time passes.
	settle := func() error {
		for range 100 {
			if ok, err := await(s.opts.Wait / 1000); !ok || err != nil {
				return err
			}
		}
		return nil
	}
	if err := settle(); err != nil {
		return err
	}
	return s.live(ctx, func(edit) error {
		if ok, err := await(s.opts.Wait); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("wake has not been called within %v", s.opts.Wait)
		}
		return settle()
	})
}

// end: Watch returns when its context is done, and not before.
func watchEnd(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, done := s.watch(ctx)
	select {
	case err := <-done:
		return fmt.Errorf("Watch returned %v before its context was done", err)
	case <-time.After(s.opts.Wait / 100):
	}
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("Watch returned %w when its context was done", err)
		}
		return nil
	case <-time.After(s.opts.Wait):
		return fmt.Errorf("Watch has not returned within %v of the end of its context", s.opts.Wait)
	}
}
