package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Since implements [resourcesync.Changer]. It is the creation of the set, or the end of
// its first scan, until changes are dropped from the journal.
func (j *Journal) Since(ctx context.Context) (time.Time, error) {
	set, err := j.readReady(ctx, j.store.db)
	return moment(set.since), j.fail("since", err)
}

// Window returns the time that one Change List covers at most.
func (j *Journal) Window() time.Duration { return j.store.window }

// Windows implements [resourcesync.Windower]. The store keeps the closed windows of each
// max, and reads only the changes after the last of them. A closed window stays the same
// until the journal drops it.
func (j *Journal) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("sqlstore: invalid maximum of %d changes in a window", max)
	}
	var division *paging.Windows
	var kept int
	err := j.snapshot(ctx, func(c rowdb.Conn) error {
		set, err := j.readReady(ctx, c)
		if err != nil {
			return err
		}
		division, kept, err = j.divide(ctx, c, max, set.since, maxTime)
		return err
	})
	if err != nil {
		return nil, j.fail("windows", err)
	}
	if closed := division.Closed()[kept:]; len(closed) > 0 {
		// If they cannot be stored now, the next call finds them again: the windows are a
		// function of the journal.
		if err := j.keepWindows(ctx, max, closed); err != nil {
			if ctx.Err() != nil {
				return nil, j.fail("windows", ctx.Err())
			}
			j.store.log.LogAttrs(ctx, slog.LevelWarn, "closed windows cannot be stored",
				slog.String("set", j.name), slog.Any("error", err))
		}
	}
	return division.Intervals(), nil
}

const maxTime = 1<<63 - 1

// divide divides the changes after since, up to until, into windows of at most max. It
// continues after the stored windows, kept in number.
func (j *Journal) divide(ctx context.Context, c rowdb.Conn, max int, since, until int64) (division *paging.Windows, kept int, err error) {
	closed, err := readWindows(ctx, c, j.id, max, since, until)
	if err != nil {
		return nil, 0, err
	}
	division = paging.NewWindows(moment(since), j.store.window, max, 0)
	division.Resume(closed)
	from := since
	if kept = len(closed); kept > 0 {
		from = closed[kept-1].Until.UnixMicro()
	}
	return division, kept, c.Query(ctx, "SELECT at, size FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at",
		func(row rowdb.Row) error { return division.Add(moment(row.Int(0)), int(row.Int(1))) }, j.id, from, until)
}

// readWindows returns the closed windows of a division that end after since and not
// after until.
func readWindows(ctx context.Context, c rowdb.Conn, set int64, max int, since, until int64) (closed []paging.Window, err error) {
	from := moment(since)
	err = c.Query(ctx, "SELECT until, count, bytes FROM rs_window WHERE set_id = $1 AND most = $2 AND until > $3 AND until <= $4 ORDER BY until",
		func(row rowdb.Row) error {
			w := paging.Window{
				Interval: resourcesync.Interval{From: from, Until: moment(row.Int(0))},
				Count:    int(row.Int(1)),
				Bytes:    int(row.Int(2)),
			}
			closed = append(closed, w)
			from = w.Until
			return nil
		}, set, max, since, until)
	return closed, err
}

// keepWindows stores closed windows, unless that would wait for a writer.
func (j *Journal) keepWindows(ctx context.Context, max int, closed []paging.Window) error {
	_, err := j.store.db.TryWrite(ctx, j.insertWindows(ctx, max, closed))
	return err
}

// insertWindows returns the statements that store closed windows.
func (j *Journal) insertWindows(ctx context.Context, max int, closed []paging.Window) func(rowdb.Conn) error {
	return func(c rowdb.Conn) error {
		return c.ExecEach(ctx, "INSERT INTO rs_window (set_id, most, until, count, bytes) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", len(closed),
			func(i int) []any {
				w := &closed[i]
				return []any{j.id, max, w.Until.UnixMicro(), w.Count, w.Bytes}
			})
	}
}

// Seals implements [resourcesync.Sealer].
func (j *Journal) Seals(ctx context.Context, after time.Time) (ends []time.Time, err error) {
	read := func(row rowdb.Row) time.Time { return moment(row.Int(0)) }
	err = j.store.db.Snapshot(ctx, func(c rowdb.Conn) (err error) {
		ends, err = rowdb.All(ctx, c, read, "SELECT until FROM rs_seal WHERE set_id = $1 AND until > $2 ORDER BY until", j.id, after.UnixMicro())
		return err
	})
	return ends, j.fail("seals", err)
}

// Seal implements [resourcesync.Sealer]. No change is numbered in the meantime, so every
// process that sees a later change also sees the seal.
func (j *Journal) Seal(ctx context.Context, newest time.Time) error {
	err := j.store.db.Update(ctx, func(c rowdb.Conn) error {
		last, err := rowdb.One(ctx, c, rowdb.Int, "SELECT at FROM rs_change WHERE set_id = $1 AND at >= $2 ORDER BY at LIMIT 2", j.id, newest.UnixMicro())
		if err != nil || !moment(last).Equal(newest) {
			return err
		}
		_, err = c.Exec(ctx, "INSERT INTO rs_seal (set_id, until) VALUES ($1, $2) ON CONFLICT DO NOTHING", j.id, last)
		return err
	})
	return j.fail("seal", err)
}

// Restart starts the journal over: Since moves to now, and every Destination compares its
// whole copy with the Resource List. It is for an operator who knows that changes are
// missing, or that the database was restored from a backup. reason is for the status; its
// text up to the first colon is public. Changes that were recorded before come before the
// new beginning.
func (j *Journal) Restart(ctx context.Context, reason string) error {
	err := j.store.db.Update(ctx, func(c rowdb.Conn) error {
		if err := j.store.numberAll(ctx, c); err != nil {
			return err
		}
		_, err := coverage.Restart(ctx, c, j.id, j.store.now(), time.Time{}, reason)
		return err
	})
	if err == nil {
		j.store.noteDiscarded()
	}
	return j.fail("restart", err)
}

// TakeOver starts the journal of the set over, once, if the set takes the place of a journal
// whose table was journalled by triggers until they were dropped: the set has not seen what
// that journal has published.
func (s *Set) TakeOver(ctx context.Context, journal string) error {
	return s.fail("take over", s.store.db.Update(ctx, func(c rowdb.Conn) error {
		cover, err := coverage.Read(ctx, c, journal)
		if err != nil || cover.Proof == "" {
			return err
		}
		set, err := readSet(ctx, c, s.id)
		if err == nil && set.ready {
			_, err = coverage.Restart(ctx, c, s.id, s.store.now(), time.Time{}, "")
		}
		if err == nil {
			err = coverage.Prove(ctx, c, cover.Set, "")
		}
		return err
	}))
}
