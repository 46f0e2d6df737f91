package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A watcher is a call of [Journal.Watch].
type watcher struct {
	set   int64
	last  int64 // the newest change when it was woken last
	woken chan struct{}
}

// Watch implements [resourcesync.Watcher]. It calls wake in its own goroutine, first at
// once and then after changes by any process; one call may stand for several changes.
// It returns only when ctx is done, with its error. [Store.Run] must be running in this
// process.
func (j *Journal) Watch(ctx context.Context, wake func()) error {
	w := &watcher{set: j.id, woken: make(chan struct{}, 1)}
	background.Signal(w.woken) // for changes before the watcher was added

	s := j.store
	s.mu.Lock()
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.woken:
			wake()
		}
	}
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
	n := len(s.watchers)
	s.mu.Unlock()
	if n == 0 {
		return nil
	}
	newest := map[int64]int64{}
	err := s.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT id, last FROM rs_set",
			func(row rowdb.Row) error { newest[row.Int(0)] = row.Int(1); return nil })
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		// After an error, wake all of them.
		if last := newest[w.set]; last != w.last || err != nil {
			w.last = last
			background.Signal(w.woken)
		}
	}
	return err
}
