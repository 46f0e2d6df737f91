package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// idleTimeout is how long recorded changes may wait before a missing Run is reported.
// A process that starts or takes over numbers them sooner.
const idleTimeout = 5 * time.Second

var errNotRun = errors.New("recorded changes are not published, because no process runs the store: in a long-running process, make it the Store of a Source that runs, or call Store.Run")

// An idleCheck detects recorded changes that wait because no process calls
// [Store.Run]. It does nothing while this process runs the store, because Run reports
// its own failures.
type idleCheck struct {
	timeout time.Duration

	mu      sync.Mutex
	running int         // calls of Run that have not returned
	closed  bool        // no timer may be set
	timer   *time.Timer // nil if none is set
	oldest  int64       // the first pending change at the last check, or 0
	since   time.Time   // when it became the first
}

// add adds n to the running calls of Run.
func (i *idleCheck) add(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running += n
	i.oldest = 0
}

func (i *idleCheck) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
}

// expectRun schedules a check, unless one is scheduled. It is cheap, and every write
// and read of a journal calls it.
func (s *Store) expectRun() {
	i := &s.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running == 0 && i.timer == nil && !i.closed {
		i.timer = time.AfterFunc(i.timeout, s.checkLater)
	}
}

// checkLater checks, and schedules another check while changes are pending.
func (s *Store) checkLater() {
	ctx, cancel := context.WithTimeout(context.Background(), idleTimeout)
	defer cancel()
	err := s.checkIdle(ctx)
	i := &s.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timer = nil
	if i.running == 0 && !i.closed && i.oldest != 0 && err == nil {
		i.timer = time.AfterFunc(i.timeout, s.checkLater)
	}
}

// checkIdle returns errNotRun if the same change has been pending for the timeout and
// no process is the sequencer. It logs that once.
func (s *Store) checkIdle(ctx context.Context) error {
	i := &s.idle
	i.mu.Lock()
	running := i.running > 0
	i.mu.Unlock()
	if running {
		return nil
	}
	oldest, err := rowdb.One(ctx, s.db, rowdb.Int, "SELECT id FROM rs_pending ORDER BY id LIMIT 1")
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
	const work = "running"
	if oldest != 0 && waited >= i.timeout {
		free, err := s.db.TryLock(ctx, sequencerLock, func(context.Context) error { return nil })
		if err != nil {
			return err
		}
		if free {
			if s.failures.Failed(work, errNotRun) {
				s.log.LogAttrs(ctx, slog.LevelError, errNotRun.Error(), slog.Duration("waited", waited.Round(time.Second)))
			}
			return errNotRun
		}
	}
	s.succeeded(ctx, work)
	return nil
}

// ErrNewer means that a newer version of this module has migrated the tables. Use that version,
// or restore a backup from before the upgrade.
var ErrNewer = rowdb.ErrNewer

// ErrDamaged reports corrupted content of the database: a row
// that cannot be decoded, or damage that the engine reports. The error that wraps it
// names the table and the row, or the file. [Store.Health] reports it until the row has
// been replaced or the process ends.
//
// [Set.Known] does not return a damaged resource, and the next [Set.Scan] that lists it
// replaces it. A damaged change stays until retention deletes it.
var ErrDamaged = rowdb.ErrDamaged

// reading is the name of the work that fails when a damaged row is read.
const reading = "reading"

// oldestSnapshot is how long after a commit a reader may still find a row that the
// transaction has discarded.
const oldestSnapshot = 5 * time.Second

// damagedRow adds the table and the key of a row to err, the error of decoding it.
func damagedRow(err error, table string, key []byte) error {
	return fmt.Errorf("%s, row of key %q: %w", table, key, err)
}

// noteDamage records an error that reports damage, and logs it if it is new.
func (s *Store) noteDamage(set string, err error) {
	if errors.Is(err, ErrDamaged) && s.failures.Failed(reading, err) {
		s.log.LogAttrs(context.Background(), slog.LevelError, "the database is damaged", slog.String("set", set), slog.Any("error", err))
	}
}

// noteDiscarded clears the recorded damage after the commit of a transaction that has
// discarded a damaged row. Before the commit, readers would record it again.
func (s *Store) noteDiscarded() {
	if s.discarded.CompareAndSwap(true, false) {
		s.failures.Succeeded(reading)
		// A reader with an older snapshot may still find the discarded row. Damage that
		// remains is recorded again by its next reader.
		time.AfterFunc(oldestSnapshot, func() { s.failures.Succeeded(reading) })
	}
}
