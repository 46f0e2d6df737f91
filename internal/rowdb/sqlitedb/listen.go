package sqlitedb

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const (
	// pollInterval is how often a listener polls for commits if the system does not
	// report writes to the log.
	pollInterval = 20 * time.Millisecond

	// A reported write is the beginning of a commit, which is visible after the disk has
	// the log. So the next poll follows after minPoll, and further ones at growing
	// intervals, up to maxPoll.
	minPoll = 5 * time.Millisecond
	maxPoll = time.Second

	// After busyPolls polls in a row that have found a commit, hosts write much, and every poll costs
	// them. So the next one follows a report after pollInterval.
	busyPolls = 10

	// maxCommit is the longest time from the last write of a commit until it is visible.
	// After maxMissed commits in a row that nothing has announced for that long, the
	// system evidently reports none.
	maxCommit = 10 * time.Second
	maxMissed = 3
)

// Listen implements [rowdb.DB]. SQLite has no notification for commits by other
// connections, such as those of the host or of another process, so a listener polls. It
// does so rarely while the system reports no writes to the log.
func (db *database) Listen(ctx context.Context, wake func()) error {
	return db.take(ctx, func(c *connection) error {
		log := watchLog(db.path + "-wal")
		defer log.close()
		l := listener{written: log.written(), arm: log.arm, version: func() (version int64, err error) {
			// data_version moves when another connection commits. This one never
			// commits.
			err = c.Query(ctx, "PRAGMA data_version", func(r rowdb.Row) error { version = r.Int(0); return nil })
			return version, err
		}}
		return l.run(ctx, wake)
	})
}

// A listener polls a version that moves with each commit.
type listener struct {
	arm     func() bool     // requests a report of the next write, and reports whether there will be one
	written <-chan struct{} // receives these reports
	version func() (int64, error)
}

// run calls wake at once and after commits, until ctx is done or the version cannot be
// read.
func (l *listener) run(ctx context.Context, wake func()) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last int64
	var armed bool
	missed, active := 0, time.Now() // when the last write was reported
	found := 0                      // polls in a row that have found a commit
	for first := true; ; first = false {
		announced := !armed || time.Since(active) < maxCommit
		// Before the poll, so that each commit is either seen by it or reported.
		armed = missed < maxMissed && l.arm()
		version, err := l.version()
		if err != nil {
			return err
		}
		if version != last || first {
			found++
			if last = version; !announced {
				missed++
			}
			wake()
		} else {
			found = 0
		}
		wait := pollInterval
		if armed {
			wait = min(max(minPoll, time.Since(active)/2), maxPoll)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			continue
		case <-l.written:
			missed, active = 0, time.Now()
		}
		if wait = minPoll; found >= busyPolls {
			wait = pollInterval
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}
