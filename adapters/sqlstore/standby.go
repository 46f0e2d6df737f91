package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// standbyPause is the time for which reads do not try a standby that has failed.
const standbyPause = 2 * time.Second

// A StandbyStatus describes the reads of a process from a standby of its database.
type StandbyStatus struct {
	// Lag is for how long the oldest change that the standby lacks has been in the journal of its set, or
	// 0 if it lacks none or Err is not nil. A database without changes does not lag.
	Lag time.Duration

	// Err says why the standby cannot be used, or is nil.
	Err error

	// FailingSince is when the standby could not be used for the first time since it last could, or the
	// zero time.
	FailingSince time.Time

	// Reads counts the parts of lists and packages, with up to 50,000 entries, that the standby has
	// served since the start. Behind counts those that the primary served, because the standby
	// lacked changes that this process had read or written; Failed counts those that the primary
	// served because the standby failed or could not be used.
	Reads, Behind, Failed int64
}

// A standby serves snapshots in place of the primary.
type standby struct {
	rowdb.Standby

	mu      sync.Mutex
	status  StandbyStatus // without the lag
	pause   time.Time     // until then, reads do not try it
	updates int64         // by this process
	known   map[int64]known
}

// Known is what a process knows of a set in the primary without having read it: its newest change after a
// number of updates.
type known struct{ last, updates int64 }

func newStandby(db rowdb.Standby) *standby { return &standby{Standby: db, known: map[int64]known{}} }

// Noting is a primary that notes updates: this process must read what it has written.
type noting struct {
	rowdb.DB
	standby *standby
}

// Update implements [rowdb.DB].
func (n noting) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	err := n.DB.Update(ctx, f)
	n.standby.mu.Lock()
	defer n.standby.mu.Unlock()
	n.standby.updates++ // even after an error, which may be of a commit that has succeeded
	return err
}

// Poll implements [rowdb.Poller].
func (n noting) Poll(ctx context.Context, f func(context.Context) error) (bool, error) {
	return n.DB.(rowdb.Poller).Poll(ctx, f)
}

// knew notes the newest change of a set after a number of updates.
func (st *standby) knew(set, last, updates int64) {
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	k := st.known[set]
	st.known[set] = known{max(k.last, last), max(k.updates, updates)}
}

// needs returns the newest change of the set that this process has read, written or been notified of.
func (st *standby) needs(ctx context.Context, j *Journal) (int64, error) {
	st.mu.Lock()
	k, updates := st.known[j.id], st.updates
	st.mu.Unlock()
	if k.updates < updates {
		set, err := readSet(ctx, j.store.db, j.id)
		if err != nil {
			return 0, err
		}
		st.knew(j.id, set.last, updates)
		k.last = max(k.last, set.last)
	}
	return max(k.last, j.store.survival.seen(j.id)), nil
}

// errBehind means that a standby lacks a state that this process has read.
var errBehind = errors.New("the standby is behind")

// snapshot calls f with a state of the set that is at least as new as every state that this process
// has read, written or been notified of: in the standby if it has such a state, and otherwise in the
// primary. If the standby fails, f is called again for the rest. A standby replays changes in the order
// of the primary, so its newest change shows which changes it has.
func (j *Journal) snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	st := j.store.standby
	if st == nil {
		return j.store.db.Snapshot(ctx, f)
	}
	if st.free() {
		least, err := st.needs(ctx, j)
		if err != nil {
			return err
		}
		err = st.Snapshot(ctx, func(c rowdb.Conn) error {
			last, err := rowdb.One(ctx, c, rowdb.Int, "SELECT last FROM rs_set WHERE id = $1 AND ready <> 0", j.id)
			if err == nil && (last == 0 || last < least) {
				err = errBehind
			}
			if err != nil {
				return err
			}
			j.saw(last)
			return f(c)
		})
		if ctx.Err() != nil || j.store.noteStandby(ctx, st, err) {
			return err
		}
	}
	return j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		last, err := rowdb.One(ctx, c, rowdb.Int, "SELECT last FROM rs_set WHERE id = $1", j.id)
		if err != nil {
			return err
		}
		j.saw(last)
		return f(c)
	})
}

// free reports whether a read may try the standby, and otherwise counts the read.
func (st *standby) free() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if time.Now().Before(st.pause) {
		st.status.Failed++
		return false
	}
	return true
}

// noteStandby notes the result of a read, and reports whether the standby has served it.
func (s *Store) noteStandby(ctx context.Context, st *standby, err error) bool {
	st.mu.Lock()
	served := err == nil || err == rowdb.ErrStop
	switch {
	case served:
		st.status.Reads++
	case err == errBehind:
		st.status.Behind++
	default:
		st.status.Failed++
	}
	st.mu.Unlock()
	if err == errBehind || served {
		err = nil
	}
	s.judgeStandby(ctx, st, err)
	return served
}

// judgeStandby notes whether the standby can be used, and logs what is new.
func (s *Store) judgeStandby(ctx context.Context, st *standby, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	before := st.status.Err
	st.status.Err = err
	switch {
	case err != nil:
		st.pause = time.Now().Add(standbyPause)
		if before == nil {
			st.status.FailingSince = time.Now()
		}
		if before == nil || before.Error() != err.Error() {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the standby cannot be read from; the primary serves", slog.Any("error", err))
		}
	case before != nil:
		st.pause, st.status.FailingSince = time.Time{}, time.Time{}
		s.log.LogAttrs(ctx, slog.LevelInfo, "the standby is read from again")
	}
}

// Standby returns the status of the standby that pgstore.ReadFrom has given to s, and whether there
// is one. It measures the lag, which waits a second at most for a standby that does not answer. The
// error is of the primary.
func (s *Store) Standby(ctx context.Context) (status StandbyStatus, has bool, err error) {
	st := s.standby
	if st == nil {
		return StandbyStatus{}, false, nil
	}
	newest := map[int64]int64{}
	read := func(row rowdb.Row) error { newest[row.Int(0)] = row.Int(1); return nil }
	failed := st.Snapshot(ctx, func(c rowdb.Conn) error { return c.Query(ctx, "SELECT id, last FROM rs_set", read) })
	if err := ctx.Err(); err != nil {
		return StandbyStatus{}, true, err
	}
	s.judgeStandby(ctx, st, failed)
	var lag time.Duration
	if failed == nil {
		lag, err = s.lag(ctx, newest)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	status = st.status
	status.Lag = lag
	return status, true, err
}

// lag returns for how long a standby has lacked a change that the primary has. newest are the newest
// changes of the standby by the ids of the sets.
func (s *Store) lag(ctx context.Context, newest map[int64]int64) (lag time.Duration, err error) {
	err = s.db.Snapshot(ctx, func(c rowdb.Conn) error {
		sets, err := rowdb.All(ctx, c, func(row rowdb.Row) [2]int64 { return [2]int64{row.Int(0), row.Int(1)} }, "SELECT id, last FROM rs_set")
		now := s.now()
		for _, set := range sets {
			id, last := set[0], set[1]
			if err != nil || newest[id] >= last {
				continue
			}
			oldest := int64(0)
			oldest, err = rowdb.One(ctx, c, rowdb.Int, "SELECT at FROM rs_change WHERE set_id = $1 AND at > $2 ORDER BY at LIMIT 1", id, newest[id])
			if oldest == 0 {
				oldest = last // which moves without a change when resources are withdrawn
			}
			lag = max(lag, now.Sub(moment(oldest)))
		}
		return err
	})
	return lag, err
}
