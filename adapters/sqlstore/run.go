package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const (
	// sequencerLock is the number of the sequencer's lock. The lock of a scan has
	// the id of its set.
	sequencerLock = 0

	// lockInterval is how often the other processes try to become the sequencer. A
	// database frees the lock of a stopped process after 2 s, so sequencing resumes
	// within 5 s, including the changes recorded meanwhile.
	lockInterval = pollInterval / 2

	// The delay between failed attempts doubles from minBackoff to maxBackoff.
	minBackoff = pollInterval / 10
	maxBackoff = 5 * time.Second
)

// Run does the store's background work until ctx is done, and then returns nil. It
// numbers recorded changes, wakes the watchers of this process, and deletes changes
// that journals have dropped. Run it in every process that serves sets of the store;
// one process at a time numbers and deletes.
//
// While the database is unreachable, full or read-only, Run keeps trying. It logs the
// failure and the recovery, and [Store.Health] reports the failure. No recorded change
// is lost.
func (s *Store) Run(ctx context.Context) error {
	s.idle.add(1)
	defer s.idle.add(-1)
	s.succeeded(ctx, "running")
	changed, pending := make(chan struct{}, 1), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.retry(ctx, "listening", func() error {
			return s.db.Listen(ctx, func() {
				s.succeeded(ctx, "listening")
				background.Signal(changed)
				background.Signal(pending)
				s.bell.Ring()
			})
		})
	})
	wg.Go(func() {
		s.retry(ctx, "sequencing", func() error { return s.lead(ctx, pending) })
	})
	wg.Go(func() {
		s.retry(ctx, "following", func() error { return s.survive(ctx) })
	})
	wg.Go(func() {
		s.retry(ctx, "watching", func() error { return s.watch(ctx, changed) })
	})
	wg.Wait()
	return nil
}

// retry calls work until ctx is done, with a delay after each failure.
func (s *Store) retry(ctx context.Context, name string, work func() error) {
	backoff := minBackoff
	for ctx.Err() == nil {
		started := time.Now()
		err := work()
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > maxBackoff {
			backoff = minBackoff
		}
		if s.failures.Failed(name, err) {
			s.log.LogAttrs(ctx, slog.LevelError, "background work of the store has failed and is retried",
				slog.String("work", name), slog.Any("error", err))
		}
		background.Sleep(ctx, backoff)
		backoff = min(2*backoff, maxBackoff)
	}
}

// succeeded records that the work of this name has succeeded.
func (s *Store) succeeded(ctx context.Context, name string) {
	if s.failures.Succeeded(name) {
		s.log.LogAttrs(ctx, slog.LevelInfo, "background work of the store has recovered", slog.String("work", name))
	}
}

// lead waits until this process is the sequencer, and numbers changes while it is.
func (s *Store) lead(ctx context.Context, pending <-chan struct{}) error {
	for {
		leads, err := s.db.TryLock(ctx, sequencerLock, func(ctx context.Context) error {
			return (&sequencer{Store: s}).run(ctx, pending)
		})
		if leads || err != nil {
			return err
		}
		s.succeeded(ctx, "sequencing")
		if err := await(ctx, lockInterval, nil); err != nil {
			return err
		}
	}
}

// await waits for a signal, or for timeout.
func await(ctx context.Context, timeout time.Duration, signal <-chan struct{}) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-signal:
	case <-timer.C:
	}
	return nil
}

// Health returns an error while the store cannot do its work: the database cannot be
// reached, background work has failed and not succeeded since, or recorded changes
// wait because no process calls [Store.Run]. The last is logged even if Health is not
// called.
func (s *Store) Health(ctx context.Context) error {
	_, err := rowdb.One(ctx, s.db, rowdb.Int, "SELECT 1 FROM rs_set LIMIT 1")
	if err == nil {
		if err = s.checkIdle(ctx); err == errNotRun {
			err = nil // it is among the failures
		}
	}
	return errors.Join(err, s.failures.Err("sqlstore"))
}

// A watched is a set that has been watched.
type watched struct {
	background.Bell
	last int64 // the newest change when it rang last
}

// Watch implements [resourcesync.Watcher]. It calls wake in its own goroutine, first at
// once and then after changes by any process; one call may stand for several changes.
// It returns only when ctx is done, with its error. [Store.Run] must be running in this
// process.
func (j *Journal) Watch(ctx context.Context, wake func()) error {
	s := j.store
	s.mu.Lock()
	w := s.watched[j.id]
	if w == nil {
		w = new(watched)
		s.watched[j.id] = w
	}
	s.mu.Unlock()
	return w.Listen(ctx, wake)
}

// watch wakes the watchers of sets that have changed: at once, because an earlier call may
// have failed, and then after each signal.
func (s *Store) watch(ctx context.Context, changed <-chan struct{}) error {
	for {
		if err := s.wakeWatchers(ctx); err != nil {
			return err
		}
		s.succeeded(ctx, "watching")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (s *Store) wakeWatchers(ctx context.Context) error {
	s.mu.Lock()
	n := len(s.watched)
	s.mu.Unlock()
	if n == 0 {
		return nil
	}
	newest := map[int64]int64{}
	err := s.db.Query(ctx, "SELECT id, last FROM rs_set", func(row rowdb.Row) error {
		newest[row.Int(0)] = row.Int(1)
		s.standby.knew(row.Int(0), row.Int(1), 0)
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, w := range s.watched {
		// After an error, wake all of them.
		if last := newest[id]; last != w.last || err != nil {
			w.last = last
			w.Ring()
		}
	}
	return err
}
