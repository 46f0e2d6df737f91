package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A watcher waits for changes of one set.
type watcher struct {
	set   int64
	last  int64 // the newest change that it has been told of
	woken chan struct{}
}

// Watch implements [resourcesync.Watcher]. It calls wake from its own goroutine,
// once to begin with and then after changes, whichever process makes them; one
// call may stand for several of them. It returns only when ctx is done, with its
// error. [Store.Run] must be running in this process.
func (j *Journal) Watch(ctx context.Context, wake func()) error {
	w := &watcher{set: j.id, woken: make(chan struct{}, 1)}
	background.Signal(w.woken) // for what changed before the store knew of this watcher

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

// watch wakes the watchers of the sets that have changed, to begin with, for
// it may have failed before, and whenever it is told that something may have.
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
		// If it cannot be known, everybody looks for themselves.
		if last := newest[w.set]; last != w.last || err != nil {
			w.last = last
			background.Signal(w.woken)
		}
	}
	return err
}
