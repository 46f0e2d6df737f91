package rshttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runPatience is the time for which no process may run a Source with notifications before
// the Source reports it. A process needs less time to start or to take over.
const runPatience = 10 * time.Second

// runs records whether Run is called, in this process or in another one.
type runs struct {
	checking atomic.Bool // whether a check is scheduled

	mu     sync.Mutex
	seen   time.Time // when some process was last known to run
	failed error     // the error that Run has returned in this process
	logged bool      // it was logged that no process runs
}

// begun records that a process runs now.
func (r *runs) begun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.failed, r.logged = time.Now(), nil, false
}

// ended records that Run has ended in this process, with err.
func (r *runs) ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.failed = time.Now(), err
}

// Health returns what prevents this process from working, or nil. It joins the errors
// of the Store and of the publisher, each with the name of the component, and the error
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
func (s *Source) expectRun() {
	if s.publisher == nil || s.running.Load() || !s.runs.checking.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(runPatience, func() {
		defer s.runs.checking.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), runPatience)
		defer cancel()
		s.checkRun(ctx)
	})
}

// checkRun returns an error if Run has failed in this process, or if no process runs the
// Source and its notifications need one. It logs the latter once.
func (s *Source) checkRun(ctx context.Context) error {
	if s.running.Load() {
		return nil
	}
	r := &s.runs
	r.mu.Lock()
	seen, failed := r.seen, r.failed
	r.mu.Unlock()
	if failed != nil {
		return fmt.Errorf("rshttp: Run has ended: %w", failed)
	}
	if s.publisher == nil || time.Since(seen) < runPatience {
		return nil
	}
	free, err := s.notifications.Lead(ctx, func(context.Context) error { return nil })
	if err != nil {
		return fmt.Errorf("rshttp: checking whether another process runs the Source: %w", err)
	}
	if !free {
		r.begun()
		return nil
	}
	names := make([]string, len(s.components))
	for i, p := range s.components {
		names[i] = p.name
	}
	err = fmt.Errorf("rshttp: no process runs the Source, and changes are not announced: call Run in a long-running process (not running: %s)", strings.Join(names, ", "))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.logged {
		r.logged = true
		s.log.LogAttrs(ctx, slog.LevelError, err.Error())
	}
	return err
}
