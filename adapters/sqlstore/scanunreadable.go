package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// noteUnreadable stores a range of keys that the scanner could not read, as far as it is
// scanned. The resources in it are kept at the end, because other goroutines of the
// scanner may still list some.
func (sc *scanRun) noteUnreadable(ctx context.Context, keys resourcesync.Range) error {
	if err := sc.flushed(); err != nil {
		return err
	}
	parts := sc.ranges.Clip(keys)
	if !sc.unreadable {
		if err := sc.table(ctx, "CREATE TEMP TABLE rs_unreadable (lo BLOB PRIMARY KEY, hi BLOB NOT NULL) WITHOUT ROWID"); err != nil {
			return err
		}
		sc.unreadable = true
	}
	return sc.conn.ExecEach(ctx, `INSERT INTO rs_unreadable (lo, hi) VALUES ($1, $2)
		ON CONFLICT (lo) DO UPDATE SET hi = CASE WHEN excluded.hi > rs_unreadable.hi THEN excluded.hi ELSE rs_unreadable.hi END`, len(parts),
		func(i int) []any { return []any{[]byte(parts[i].From), endOf(parts[i])} })
}

// keepUnreadable marks all resources that the scanner could not read as seen. Its cost
// grows with their number.
func (sc *scanRun) keepUnreadable(ctx context.Context) error {
	type span struct{ lo, hi []byte }
	for operator, after := ">=", []byte{}; sc.unreadable; operator = ">" {
		var spans []span
		err := sc.conn.Query(ctx, "SELECT lo, hi FROM rs_unreadable WHERE lo "+operator+" $1 ORDER BY lo LIMIT $2",
			func(row rowdb.Row) error {
				spans = append(spans, span{row.Append([]byte{}, 0), row.Append(nil, 1)})
				return nil
			}, after, batch)
		if err != nil {
			return err
		}
		for _, s := range spans {
			if err := sc.keep(ctx, s.lo, s.hi); err != nil {
				return err
			}
		}
		if len(spans) < batch {
			break
		}
		after = spans[batch-1].lo
	}
	return nil
}

// keep marks the resources with keys from lo to before hi as seen.
func (sc *scanRun) keep(ctx context.Context, lo, hi []byte) error {
	for {
		var keys [][]byte
		err := sc.conn.Query(ctx, `SELECT key FROM rs_resource
			WHERE set_id = $1 AND key >= $2 AND key < $3 AND newest <= $4 AND body IS NOT NULL ORDER BY key LIMIT $5`,
			func(row rowdb.Row) error { keys = append(keys, row.Append(nil, 0)); return nil },
			sc.set.id, lo, hi, sc.begun, batch)
		if err == nil {
			err = sc.see(ctx, keys, func(int) { sc.result.Unreadable++ })
		}
		if err != nil || len(keys) < batch {
			return err
		}
		lo = append(keys[batch-1], 0)
	}
}
