package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// idlePatience is how long recorded changes may wait while no process runs the
// store. A process that starts, or takes over, needs less.
const idlePatience = 5 * time.Second

// errNotRun reports it.
var errNotRun = errors.New("recorded changes wait, and no process takes them up: call Store.Run in one that stays up")

// An idleCheck finds out whether recorded changes wait because no process has
// called [Store.Run]. A store that runs in this process needs no check: Run reports its own
// failures.
type idleCheck struct {
	mu      sync.Mutex
	running int         // calls of Run that have not returned
	closed  bool        // no timer is set any more
	timer   *time.Timer // nil if none is set
	oldest  int64       // the first pending change when it was looked at, 0 for none
	since   time.Time   // since when it has been the first
}

// runs notes that Run has been called, and returns what to call at its end.
func (i *idleCheck) runs() (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running++
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.running--
		i.oldest = 0
	}
}

func (i *idleCheck) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
}

// expectRun schedules a check for changes that no process takes up, unless one is
// due already. It is cheap, and every write or read of a journal calls it.
func (s *Store) expectRun() {
	i := &s.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running == 0 && i.timer == nil && !i.closed {
		i.timer = time.AfterFunc(idlePatience, s.lookIdle)
	}
}

// lookIdle checks for changes that no process takes up, and repeats the check while
// there are any.
func (s *Store) lookIdle() {
	ctx, cancel := context.WithTimeout(context.Background(), idlePatience)
	defer cancel()
	err := s.checkIdle(ctx)
	i := &s.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timer = nil
	if i.running == 0 && !i.closed && i.oldest != 0 && err == nil {
		i.timer = time.AfterFunc(idlePatience, s.lookIdle)
	}
}

// checkIdle returns errNotRun if this process has seen changes wait for too long and
// no process takes them up. It logs that once.
func (s *Store) checkIdle(ctx context.Context) error {
	i := &s.idle
	i.mu.Lock()
	running := i.running > 0
	i.mu.Unlock()
	if running {
		return nil
	}
	var oldest int64
	err := s.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT id FROM rs_pending ORDER BY id LIMIT 1", func(r rowdb.Row) error {
			oldest = r.Int(0)
			return nil
		})
	})
	if err != nil {
		return err
	}
	now := time.Now()
	i.mu.Lock()
	if oldest != i.oldest {
		i.oldest, i.since = oldest, now
	}
	waited := now.Sub(i.since)
	i.mu.Unlock()
	led := true
	if oldest != 0 && waited >= idlePatience {
		led = false
		free, err := s.db.TryLock(ctx, sequencerLock, func(context.Context) error { return nil })
		if err != nil {
			return err
		}
		led = !free
	}
	const work = "running"
	if led {
		s.works(ctx, work)
		return nil
	}
	if s.failures.Failed(work, errNotRun) {
		s.log.LogAttrs(ctx, slog.LevelError, errNotRun.Error(), slog.Duration("waited", waited.Round(time.Second)))
	}
	return errNotRun
}
