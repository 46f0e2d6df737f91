package rshttp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A component is a part of a Source that [Source.Run] runs.
type component struct {
	name   string
	run    func(ctx context.Context) error
	health func(ctx context.Context) error // nil if it has none
}

// newComponents returns the components of s. Each needs those before it.
func (s *Source) newComponents() []component {
	var all []component
	if store := s.options.Store; store != nil {
		all = append(all, component{"store", store.Run, store.Health})
	}
	if s.publisher != nil {
		all = append(all, component{"publisher", s.publisher.Run, s.publisher.Health})
	}
	if s.hub != nil {
		all = append(all, component{"hub", s.hub.Run, nil})
	}
	if feed := s.options.WebSocket; feed != nil {
		run := func(ctx context.Context) error { return feed.Run(ctx, s.notifications) }
		all = append(all, component{"websocket", run, nil})
	}
	return append(all, component{"source", s.runSets, nil})
}

// Run runs the Source until ctx ends, and then returns nil. It starts the components
// that the Source has: the Store, the publisher of notifications, the Hub, the WebSocket
// and the background work of the sets. It stops them in reverse order. If a component
// ends by itself, Run stops the others and returns an error that names it.
//
// The background work of the sets divides them into pages and packages before requests
// need them, and closes packages of Change Dumps on quiet sites. A Source that only
// serves documents works without Run: a request that finds an outdated index updates
// it. Notifications are published and delivered only while at least one of the
// processes that share the Store calls Run; [Source.Health] reports if none does.
//
// It fails if it is already running.
func (s *Source) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("rshttp: Run is already running")
	}
	defer s.running.Store(false)
	s.runs.begun()
	err := runAll(ctx, s.components)
	s.runs.ended(err)
	return err
}

// runAll runs components until ctx ends or one of them does. It stops them in reverse
// order: each has ended before one that it needs is stopped.
func runAll(ctx context.Context, all []component) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu    sync.Mutex
		errs  []error
		stops []func()
	)
	for _, p := range all {
		running, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := p.run(running)
			switch {
			case running.Err() == nil && err == nil:
				err = errors.New("it has ended")
			case running.Err() != nil && errors.Is(err, context.Canceled):
				err = nil
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("rshttp: %s: %w", p.name, err))
				cancel()
			}
		}()
		stops = append(stops, func() { stop(); <-done })
	}
	<-ctx.Done()
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	return errors.Join(errs...)
}
