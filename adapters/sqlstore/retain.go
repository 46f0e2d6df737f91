package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// forget moves the set's Since, at the time of a new change, behind the windows
// that have ended longer ago than changes are retained. The rows themselves are
// cleared away later: nobody reads them any more.
func (a *application) forget(ctx context.Context) error {
	if a.store.retain < 0 {
		return nil
	}
	horizon := moment(a.set.last).Add(-a.store.retain).Truncate(a.store.window)
	last := int64(-1)
	err := a.conn.Query(ctx, "SELECT at FROM rs_change WHERE set_id = $1 AND at >= $2 AND at < $3 ORDER BY at DESC LIMIT 1",
		func(row rowdb.Row) error { last = row.Int(0); return nil }, a.set.id, a.set.since, horizon.UnixMicro())
	if err != nil || last < 0 {
		return err
	}
	// The end of the newest window dropped, and not the horizon, because
	// windows without a change are joined to the one after them: only there
	// does a window begin however many changes windows have at most.
	since := moment(last).Truncate(a.store.window).Add(a.store.window).UnixMicro()
	a.set.since, err = betweenWindows(ctx, a.conn, a.set, since)
	return err
}

// betweenWindows returns the latest time up to since that is in the middle of no
// closed window, of any division. It is since itself unless windows were of another
// length when they were closed.
func betweenWindows(ctx context.Context, c rowdb.Conn, set *setRow, since int64) (int64, error) {
	for {
		begin := since
		err := c.Query(ctx, `SELECT coalesce(max(CASE WHEN until <= $1 THEN until END), $2) FROM rs_window
			WHERE set_id = $3 GROUP BY most HAVING max(until) > $1`,
			func(row rowdb.Row) error { begin = min(begin, max(row.Int(0), set.since)); return nil }, since, set.since, set.id)
		if err != nil || begin == since {
			return since, err
		}
		since = begin // which may be in the middle of a window of another division
	}
}

// clear deletes what the journals have dropped, together with the memory of the
// deletions among it, in batches.
func (s *Store) clear(ctx context.Context) error {
	for {
		n := 0
		err := s.db.Update(ctx, func(c rowdb.Conn) error {
			var dropped []dropped
			err := c.Query(ctx, `SELECT c.set_id, c.at, c.change, c.key, s.journal FROM rs_set s JOIN rs_change c ON c.set_id = s.id AND c.at < s.since
				ORDER BY c.set_id, c.at LIMIT $1`, func(row rowdb.Row) error {
				dropped = append(dropped, readDropped(row))
				return nil
			}, batch)
			n = len(dropped)
			if err != nil || n == 0 {
				return err
			}
			return clearChanges(ctx, c, dropped)
		})
		if err != nil || n < batch {
			return err
		}
	}
}

// A dropped is a change that is before its set's Since, or the time of one that is
// left with another key.
type dropped struct {
	set, at int64
	key     []byte
	deleted bool // from a set of resources, which remembers it
}

func readDropped(row rowdb.Row) dropped {
	return dropped{
		set:     row.Int(0),
		at:      row.Int(1),
		key:     row.Append(nil, 3),
		deleted: rowdb.String(row, 2) == string(resourcesync.Deleted) && row.Int(4) == 0,
	}
}

func clearChanges(ctx context.Context, c rowdb.Conn, all []dropped) error {
	err := c.ExecEach(ctx, "DELETE FROM rs_change WHERE set_id = $1 AND at = $2", len(all),
		func(i int) []any { return []any{all[i].set, all[i].at} })
	if err == nil {
		_, err = c.Exec(ctx, "DELETE FROM rs_window WHERE until <= (SELECT since FROM rs_set WHERE id = rs_window.set_id)")
	}
	if err != nil {
		return err
	}
	var deletions []dropped
	for _, d := range all {
		if d.deleted {
			deletions = append(deletions, d)
		}
	}
	// The deletion is the newest change of its key unless another resource
	// has taken the key since.
	var forgotten []dropped
	err = c.QueryEach(ctx, "DELETE FROM rs_resource WHERE set_id = $1 AND key = $2 AND newest = $3 AND body IS NULL RETURNING 1", len(deletions),
		func(i int) []any { return []any{deletions[i].set, deletions[i].key, deletions[i].at} },
		func(i int, _ rowdb.Row) error { forgotten = append(forgotten, deletions[i]); return nil })
	if err != nil {
		return err
	}
	beside, err := bury(ctx, c, forgotten)
	if err != nil {
		return err
	}
	touched := append(forgotten, beside...)
	var blocks []lookup
	err = c.QueryEach(ctx, "SELECT lo FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1", len(touched),
		func(i int) []any { return []any{touched[i].set, touched[i].key} },
		func(i int, row rowdb.Row) error {
			blocks = append(blocks, lookup{touched[i].set, rowdb.String(row, 0)})
			return nil
		})
	slices.SortFunc(blocks, func(a, b lookup) int { return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.lo, b.lo)) })
	for _, b := range slices.Compact(blocks) {
		if err == nil {
			err = divideBlock(ctx, c, b.set, []byte(b.lo))
		}
	}
	return err
}

// bury leaves the times of deletions that are forgotten with the rows beside them,
// and returns which rows these are. A range that held a deletion and holds anything
// else holds one of them. So a page does not seem older than the last deletion from
// it, which would keep it from a Destination that has not looked for longer than
// changes are retained.
func bury(ctx context.Context, c rowdb.Conn, forgotten []dropped) (beside []dropped, err error) {
	for _, order := range []string{"< $2 ORDER BY key DESC", "> $2 ORDER BY key"} {
		if err == nil {
			err = c.QueryEach(ctx, "SELECT key, newest FROM rs_resource WHERE set_id = $1 AND key "+order+" LIMIT 1", len(forgotten),
				func(i int) []any { return []any{forgotten[i].set, forgotten[i].key} },
				func(i int, row rowdb.Row) error {
					if at := forgotten[i].at; row.Int(1) < at {
						beside = append(beside, dropped{set: forgotten[i].set, at: at, key: row.Append(nil, 0)})
					}
					return nil
				})
		}
	}
	if err == nil {
		err = c.ExecEach(ctx, "UPDATE rs_resource SET newest = $1 WHERE set_id = $2 AND key = $3 AND newest < $1", len(beside),
			func(i int) []any { return []any{beside[i].at, beside[i].set, beside[i].key} })
	}
	return beside, err
}

// A lookup is where a block is.
type lookup struct {
	set int64
	lo  string
}
