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
	// sequencerLock is the number of the sequencer's lock. Those of scans are
	// the ids of their sets.
	sequencerLock = 0

	// glance is how often the sequencer looks for work that nobody has told it
	// of.
	glance = time.Second

	// turn is how often others look whether there still is a sequencer. With
	// what a database waits for one that has stopped, 2 s, and the work that has
	// gathered meanwhile it stays below 5 s.
	turn = glance / 2

	// clearEvery is how often what the journals have dropped is cleared away.
	clearEvery = time.Minute

	// clearRest is how long it rests between two batches of that.
	clearRest = 10 * time.Millisecond

	// maxRest bounds the rest after failures in a row.
	maxRest = 5 * time.Second
)

// Run does the store's background work until ctx ends, and then returns nil: it
// gives recorded changes their place in the journals, tells watchers of changes
// of all processes, and clears away what journals have dropped. It should run in
// every process that serves sets of the store; one of them at a time does what
// only one can.
//
// When the database fails, is full or cannot be written to, Run says so to the
// logger and by [Store.Health], and goes on when it can, which it says as well.
// Nothing is lost meanwhile.
func (s *Store) Run(ctx context.Context) error {
	defer s.idle.runs()()
	s.works(ctx, "running")
	changed, pending := make(chan struct{}, 1), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.persist(ctx, "listening", func() error {
			return s.db.Listen(ctx, func() {
				s.works(ctx, "listening")
				background.Signal(changed)
				background.Signal(pending)
				s.bell.Ring()
			})
		})
	})
	wg.Go(func() {
		s.persist(ctx, "sequencing", func() error { return s.lead(ctx, pending) })
	})
	wg.Go(func() {
		s.persist(ctx, "watching", func() error { return s.tellWatchers(ctx, changed) })
	})
	wg.Wait()
	return nil
}

// persist runs work again and again until ctx is done, with rests after failures
// that grow while it goes on failing.
func (s *Store) persist(ctx context.Context, name string, work func() error) {
	rest := glance / 10
	for ctx.Err() == nil {
		started := time.Now()
		err := work()
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > maxRest {
			rest = glance / 10
		}
		if s.failures.Failed(name, err) {
			s.log.LogAttrs(ctx, slog.LevelError, "the store's background work has failed and is tried again",
				slog.String("work", name), slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
		rest = min(2*rest, maxRest)
	}
}

// works notes that the work of that name has succeeded.
func (s *Store) works(ctx context.Context, name string) {
	if s.failures.Succeeded(name) {
		s.log.LogAttrs(ctx, slog.LevelInfo, "the store's background work works again", slog.String("work", name))
	}
}

// lead sequences for as long as this process is the one to do so.
func (s *Store) lead(ctx context.Context, pending <-chan struct{}) error {
	for {
		leads, err := s.db.TryLock(ctx, sequencerLock, func(ctx context.Context) error {
			cleared := time.Time{}
			for {
				if err := s.sequence(ctx); err != nil {
					return err
				}
				rest := glance
				if time.Since(cleared) > clearEvery {
					more, err := s.clear(ctx)
					switch {
					case err != nil:
						return err
					case more:
						// New changes come first, and writers get the lock.
						rest = clearRest
					default:
						cleared = time.Now()
					}
				}
				s.works(ctx, "sequencing")
				if err := await(ctx, rest, pending); err != nil {
					return err
				}
			}
		})
		if leads || err != nil {
			return err
		}
		s.works(ctx, "sequencing")
		if err := await(ctx, turn, nil); err != nil {
			return err
		}
	}
}

// await waits for a signal, but no longer than most.
func await(ctx context.Context, most time.Duration, signal <-chan struct{}) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-signal:
	case <-timer.C:
	}
	return nil
}

// Health returns what keeps the store from its work: the last error of each kind
// of background work that has not succeeded since, whether the database can be
// reached, and whether recorded changes wait because no process calls [Store.Run].
// The last is logged as well, whether or not Health is called. Health is nil if
// nothing is wrong.
func (s *Store) Health(ctx context.Context) error {
	err := s.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT 1 FROM rs_set LIMIT 1", func(rowdb.Row) error { return nil })
	})
	if err == nil {
		if err = s.checkIdle(ctx); err == errNotRun {
			err = nil // it is among the failures
		}
	}
	return errors.Join(err, s.failures.Err("sqlstore"))
}
