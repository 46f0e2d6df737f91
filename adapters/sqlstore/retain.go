package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// forget moves Since of the set, when a change is added, to the end of the last window
// that ended before the retention time, and likewise the beginning of its archive. The
// rows before it are no longer read, and are deleted later.
func (b *changeBatch) forget(ctx context.Context) (err error) {
	if b.store.retain < 0 {
		return nil
	}
	set := b.set
	if set.since, err = b.dropped(ctx, set.since, b.store.retain); err != nil {
		return err
	}
	switch {
	case b.store.archive == 0:
		set.archive = set.since
	case b.store.archive > 0:
		set.archive, err = b.dropped(ctx, set.archive, b.store.archive)
	}
	return err
}

// dropped returns the new beginning of a journal or archive that begins after since and
// keeps changes for age: since itself, or the end of a window.
func (b *changeBatch) dropped(ctx context.Context, since int64, age time.Duration) (int64, error) {
	horizon := paging.Horizon(moment(b.set.last), age, b.store.window)
	last, err := rowdb.One(ctx, b.conn, rowdb.Int, "SELECT at FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at DESC LIMIT 1",
		b.set.id, since, horizon.UnixMicro())
	if err != nil || last == 0 {
		return since, err
	}
	end := paging.Boundary(moment(last), b.store.window).UnixMicro()
	return betweenWindows(ctx, b.conn, b.set.id, since, end)
}

// betweenWindows returns the latest time from before to since that no closed window of
// any division contains. That is since itself, unless windows had another length when
// they were closed.
func betweenWindows(ctx context.Context, c rowdb.Conn, set, before, since int64) (int64, error) {
	divisions, err := windowDivisions(ctx, c, set)
	for err == nil {
		begin := since
		for _, most := range divisions {
			var after, until int64
			after, err = rowdb.One(ctx, c, rowdb.Int, "SELECT 1 FROM rs_window WHERE set_id = $1 AND most = $2 AND until > $3 LIMIT 1", set, most, since)
			if err != nil || after == 0 {
				break
			}
			until, err = rowdb.One(ctx, c, rowdb.Int, "SELECT until FROM rs_window WHERE set_id = $1 AND most = $2 AND until <= $3 ORDER BY until DESC LIMIT 1",
				set, most, since)
			begin = min(begin, max(before, until))
		}
		if begin == since {
			break
		}
		since = begin // which may be in the middle of a window of another division
	}
	return since, err
}

// windowDivisions returns the maximum sizes of windows for which the journal of a set
// has been divided. It looks up each of them without reading the windows.
func windowDivisions(ctx context.Context, c rowdb.Conn, set int64) (all []int64, err error) {
	for most := int64(0); ; {
		most, err = rowdb.One(ctx, c, rowdb.Int, "SELECT most FROM rs_window WHERE set_id = $1 AND most > $2 ORDER BY most LIMIT 1", set, most)
		if err != nil || most == 0 {
			return all, err
		}
		all = append(all, most)
	}
}

// clear deletes a batch of the dropped changes of each journal, and the records of the
// deletions among them. It reports whether more remain, and reads without the write
// lock.
func (s *Store) clear(ctx context.Context) (more bool, err error) {
	sets, err := rowdb.All(ctx, s.db, readSetRow, "SELECT "+setColumns+" FROM rs_set")
	if err != nil {
		return false, err
	}
	for i := range sets {
		dropped, err := s.drop(ctx, &sets[i])
		if err != nil {
			return more, err
		}
		discarded, err := s.discard(ctx, &sets[i])
		if err != nil {
			return more, err
		}
		more = more || max(dropped, discarded) == batch
	}
	return more, nil
}

// drop forgets what a set remembers of a batch of the oldest dropped changes: their
// deletions, and the entries to erase. It returns their number. It reads them before it
// takes the write lock: they cannot change, and one process clears at a time.
func (s *Store) drop(ctx context.Context, set *setRow) (int, error) {
	var all []dropped
	var erased []int64
	err := s.db.Snapshot(ctx, func(c rowdb.Conn) error {
		erasures, err := readErased(ctx, c, set.id)
		if err != nil {
			return err
		}
		body := "NULL" // which is long, and hardly ever needed
		if len(erasures) > 0 {
			body = "body"
		}
		return c.Query(ctx, "SELECT at, change, key, "+body+" FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at LIMIT $4", func(row rowdb.Row) error {
			d := dropped{
				at:      row.Int(0),
				deleted: rowdb.String(row, 1) == string(resourcesync.Deleted) && !set.journal,
				key:     row.Append(nil, 2),
			}
			all = append(all, d)
			if len(erasures) > 0 {
				if until, ok := erasures[codec.URI(row.Append(nil, 3))]; ok && !moment(d.at).After(until) {
					erased = append(erased, d.at)
				}
			}
			return nil
		}, set.id, set.forgotten, set.since, batch)
	})
	if err != nil || len(all) == 0 {
		return 0, err
	}
	last := all[len(all)-1].at
	set.forgotten = last
	return len(all), s.db.Update(ctx, func(c rowdb.Conn) error {
		err := eraseChanges(ctx, c, set.id, erased)
		if err == nil {
			err = forgetDeletions(ctx, c, set.id, all)
		}
		if err == nil {
			_, err = c.Exec(ctx, "UPDATE rs_set SET forgotten = $1 WHERE id = $2", last, set.id)
		}
		if err == nil {
			_, err = c.Exec(ctx, "DELETE FROM rs_seal WHERE set_id = $1 AND until <= $2", set.id, set.since)
		}
		if err == nil {
			_, err = c.Exec(ctx, "DELETE FROM rs_erased WHERE set_id = $1 AND at <= $2", set.id, last)
		}
		return err
	})
}

// discard deletes a batch of the oldest dropped changes that no archive keeps, with their
// windows, and returns their number.
func (s *Store) discard(ctx context.Context, set *setRow) (n int, err error) {
	var last int64
	var divisions []int64
	err = s.db.Snapshot(ctx, func(c rowdb.Conn) error {
		times, err := rowdb.All(ctx, c, rowdb.Int, "SELECT at FROM rs_change WHERE set_id = $1 AND at <= $2 ORDER BY at LIMIT $3", set.id, min(set.archive, set.forgotten), batch)
		if n = len(times); err != nil || n == 0 {
			return err
		}
		last = times[n-1]
		divisions, err = windowDivisions(ctx, c, set.id)
		return err
	})
	if err != nil || n == 0 {
		return 0, err
	}
	return n, s.db.Update(ctx, func(c rowdb.Conn) error {
		// Both statements find rows by the primary key, so they delete only what has been
		// read.
		if _, err := c.Exec(ctx, "DELETE FROM rs_change WHERE set_id = $1 AND at <= $2", set.id, last); err != nil {
			return err
		}
		return c.ExecEach(ctx, "DELETE FROM rs_window WHERE set_id = $1 AND most = $2 AND until <= $3", len(divisions),
			func(i int) []any { return []any{set.id, divisions[i], set.archive} })
	})
}

// A dropped is a change that is not after Since of its set, or such a time that another
// row has taken over.
type dropped struct {
	at      int64
	key     []byte
	deleted bool // from a set of resources, which remembers it
}

// forgetDeletions deletes the rows that remember the deletions among the dropped
// changes of a set.
func forgetDeletions(ctx context.Context, c rowdb.Conn, set int64, all []dropped) error {
	var deletions []dropped
	for _, d := range all {
		if d.deleted {
			deletions = append(deletions, d)
		}
	}
	// The deletion is the newest change of its key, unless another resource has used
	// the key since.
	var forgotten []dropped
	err := c.QueryEach(ctx, "DELETE FROM rs_resource WHERE set_id = $1 AND key = $2 AND newest = $3 AND body IS NULL RETURNING 1", len(deletions),
		func(i int) []any { return []any{set, deletions[i].key, deletions[i].at} },
		func(i int, _ rowdb.Row) error { forgotten = append(forgotten, deletions[i]); return nil })
	if err != nil {
		return err
	}
	beside, err := moveDeletionTimes(ctx, c, set, forgotten)
	if err != nil {
		return err
	}
	touched := append(forgotten, beside...)
	var blocks []string
	err = c.QueryEach(ctx, "SELECT lo FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1", len(touched),
		func(i int) []any { return []any{set, touched[i].key} },
		func(_ int, row rowdb.Row) error { blocks = append(blocks, rowdb.String(row, 0)); return nil })
	slices.Sort(blocks)
	for _, lo := range slices.Compact(blocks) {
		if err == nil {
			err = divideBlock(ctx, c, set, []byte(lo))
		}
	}
	return err
}

// moveDeletionTimes moves the times of forgotten deletions to rows beside them, and returns these
// rows. If a range that had a deletion still has rows, one of these is among them. So a
// page does not seem older than the last deletion from it, and a Destination that
// returns after the retention time does not skip it.
func moveDeletionTimes(ctx context.Context, c rowdb.Conn, set int64, forgotten []dropped) (beside []dropped, err error) {
	for _, order := range []string{"< $2 ORDER BY key DESC", "> $2 ORDER BY key"} {
		if err == nil {
			err = c.QueryEach(ctx, "SELECT key, newest FROM rs_resource WHERE set_id = $1 AND key "+order+" LIMIT 1", len(forgotten),
				func(i int) []any { return []any{set, forgotten[i].key} },
				func(i int, row rowdb.Row) error {
					if at := forgotten[i].at; row.Int(1) < at {
						beside = append(beside, dropped{at: at, key: row.Append(nil, 0)})
					}
					return nil
				})
		}
	}
	if err == nil {
		err = c.ExecEach(ctx, "UPDATE rs_resource SET newest = $1 WHERE set_id = $2 AND key = $3 AND newest < $1", len(beside),
			func(i int) []any { return []any{beside[i].at, set, beside[i].key} })
	}
	return beside, err
}
