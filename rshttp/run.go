package rshttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/publisher"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A runner is the part of a Source that works in the background, and knows whether it does,
// in this process or in another one.
type runner struct {
	*server
	stored        topiclog.Log         // where the notifications are
	notifications pushlog.Log          // in stored
	publisher     *publisher.Publisher // nil if there is nothing to publish
	hub           *hub.Hub             // nil if there is none
	hubURI        *url.URL
	remote        [][]topic.RemoteHub // of each set
	components    []component         // in the order in which they start

	running  atomic.Bool
	checking atomic.Bool // whether a check is scheduled

	oldMu sync.Mutex
	old   *bool // the result of isOld

	mu     sync.Mutex
	seen   time.Time // when some process was last known to run
	failed error     // the error that Run has returned in this process
	logged bool      // it was logged that no process runs
}

// runPatience is the time for which no process may run a Source with notifications before
// the Source reports it. A process needs less time to start or to take over.
const runPatience = 10 * time.Second

// A component is a part of a Source that [Source.Run] runs.
type component struct {
	name   string
	run    func(ctx context.Context) error
	health func(ctx context.Context) error // nil if it has none
}

// begin creates the publisher, and lists the components. Each needs those before it.
func (r *runner) begin() (err error) {
	if r.publisher, err = r.newPublisher(); err != nil {
		return err
	}
	add := func(name string, run, health func(context.Context) error) {
		r.components = append(r.components, component{name, run, health})
	}
	if store := r.options.Store; store != nil {
		add("store", store.Run, store.Health)
	}
	for _, name := range slices.Sorted(maps.Keys(r.site.Sets)) {
		if p, ok := r.site.Sets[name].Provider.(resourcesync.Runner); ok {
			add(document.Title(name), p.Run, p.Health)
		}
	}
	if r.publisher != nil {
		add("publisher", r.publisher.Run, r.publisher.Health)
	}
	if r.hub != nil {
		add("hub", r.hub.Run, nil)
	}
	if feed := r.options.WebSocket; feed != nil {
		add("websocket", func(ctx context.Context) error { return feed.Run(ctx, r.stored) }, nil)
	}
	add("source", r.site.RunSets, nil)
	r.sawRun() // assume that some process starts soon
	return nil
}

// Run runs the Source until ctx ends, and then returns nil. It starts the components
// that the Source has: the Store, each Provider that is a [resourcesync.Runner], the
// publisher of notifications, the Hub, the WebSocket and the background work of the sets. It stops them in reverse order. If a component
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
	s.sawRun()
	err := runAll(ctx, s.components)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.failed = time.Now(), err
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

// Health returns what prevents this process from working, or nil. It joins the errors
// of the Store, of each [resourcesync.Runner] and of the publisher, each with the name of the component, and the error
// with which Run ended. If the Source has a Store or notifications and no process has
// run it for ten seconds, the error names the components that do not run. A process
// that only serves is healthy while another one calls Run.
//
// The Source also logs that no process runs it, whether or not Health is called. Remote
// hubs that do not accept notifications are not errors here, because a restart would not
// help; see [Source.PushStatus].
func (s *Source) Health(ctx context.Context) error {
	notRun := s.checkRun(ctx)
	var all []error
	for _, p := range s.components {
		if p.health == nil {
			continue
		}
		if err := p.health(ctx); err != nil {
			all = append(all, fmt.Errorf("rshttp: %s: %w", p.name, err))
		}
	}
	return errors.Join(append(all, notRun)...)
}

// expectRun schedules a check that some process runs the Source. It must be cheap,
// because every request calls it.
func (r *runner) expectRun() {
	if r.publisher == nil || r.running.Load() || !r.checking.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(runPatience, func() {
		defer r.checking.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), runPatience)
		defer cancel()
		r.checkRun(ctx)
	})
}

// sawRun records that a process runs now.
func (r *runner) sawRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.failed, r.logged = time.Now(), nil, false
}

// checkRun returns an error if Run has failed in this process, or if no process runs the
// Source and its notifications need one. It logs the latter once.
func (r *runner) checkRun(ctx context.Context) error {
	if r.running.Load() {
		return nil
	}
	r.mu.Lock()
	seen, failed := r.seen, r.failed
	r.mu.Unlock()
	if failed != nil {
		return fmt.Errorf("rshttp: Run has ended: %w", failed)
	}
	if r.publisher == nil || time.Since(seen) < runPatience {
		return nil
	}
	free, err := r.notifications.Lead(ctx, func(context.Context) error { return nil })
	if err != nil {
		return fmt.Errorf("rshttp: checking whether another process runs the Source: %w", err)
	}
	if !free {
		r.sawRun()
		return nil
	}
	var names []string
	for _, p := range r.components {
		names = append(names, p.name)
	}
	err = fmt.Errorf("rshttp: no process is running the Source, so changes are not announced: call Run in a long-running process (not running: %s)", strings.Join(names, ", "))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.logged {
		r.logged = true
		r.log.LogAttrs(ctx, slog.LevelError, err.Error())
	}
	return err
}
