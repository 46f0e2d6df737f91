package sqlstore

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const (
	// pollInterval is how often the sequencer looks for recorded changes without
	// being woken.
	pollInterval = time.Second

	// After it has numbered changes in SQLite, the sequencer rests restRatio times as long as the
	// transactions took, restPerChange for each change, and maxRest at most. A host that meets
	// such a transaction sleeps for milliseconds, so there are few of them while others write
	// much, and a change that comes alone never waits.
	restRatio     = 19
	restPerChange = 2 * time.Millisecond
	maxRest       = 120 * time.Millisecond

	// After busyStreak wakeups with less than busyGap between them, the sequencer of a
	// [rowdb.Poller] looks for changes every busyPause, until it has found none for calmAfter.
	// A transaction that takes longer than that can be found pollInterval late.
	busyStreak = 8
	busyGap    = 250 * time.Millisecond
	busyPause  = 25 * time.Millisecond
	calmAfter  = time.Second

	// clearInterval is how often changes that the journals have dropped are deleted.
	clearInterval = time.Minute

	// clearPause is the time between two batches of deletions.
	clearPause = 10 * time.Millisecond
)

// A sequencer numbers the recorded changes of all sets, and deletes changes that journals have
// dropped.
type sequencer struct {
	*Store
	cleared time.Time // when everything that was dropped had been deleted
	found   time.Time // when changes were numbered last
	streak  int       // of wakeups for changes
}

// run numbers changes until ctx is done or it fails. pending wakes it.
func (q *sequencer) run(ctx context.Context, pending <-chan struct{}) error {
	for {
		done, wait, err := q.step(ctx)
		if err != nil {
			return err
		}
		if polled, err := q.poll(ctx, done); err != nil {
			return err
		} else if polled {
			continue // changes may have been committed at its end, without a notification
		}
		if q.db.Dialect() == rowdb.SQLite && done.changes > 0 {
			rest := restRatio*done.held + time.Duration(done.changes)*restPerChange
			if err := background.Sleep(ctx, min(rest, maxRest)); err != nil {
				return err
			}
		}
		if err := await(ctx, wait, pending); err != nil {
			return err
		}
	}
}

// step numbers the pending changes. wait is the time after which the next step is due, if nothing
// wakes the sequencer before.
func (q *sequencer) step(ctx context.Context) (done sequenced, wait time.Duration, err error) {
	if done, err = q.sequence(ctx); err != nil {
		return done, 0, err
	}
	if now := time.Now(); done.changes > 0 {
		if q.streak++; now.Sub(q.found) > busyGap {
			q.streak = 0
		}
		q.found = now
	}
	wait = pollInterval
	if time.Since(q.cleared) > clearInterval {
		more, err := q.clear(ctx)
		switch {
		case err != nil:
			return done, 0, err
		case more:
			// Number new changes first, and let writers have the lock.
			wait = clearPause
		default:
			q.cleared = time.Now()
		}
	}
	q.succeeded(ctx, "sequencing")
	return done, wait, nil
}

// poll looks for changes repeatedly while there are many, so that writers need not notify. It
// reports whether it has.
func (q *sequencer) poll(ctx context.Context, done sequenced) (bool, error) {
	p, ok := q.db.(rowdb.Poller)
	if !ok || q.streak < busyStreak || done.changes == 0 {
		return false, nil
	}
	q.streak = 0
	began := false
	polled, err := p.Poll(ctx, func(ctx context.Context) error {
		began = true
		for time.Since(q.found) < calmAfter {
			if err := background.Sleep(ctx, busyPause); err != nil {
				return err
			}
			if _, _, err := q.step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if !began {
		return false, nil // without a further connection, notifications have to do
	}
	return polled, err
}
