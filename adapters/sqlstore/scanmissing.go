package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// findMissing stores the keys of the resources in the ranges of the scan that have been
// neither seen nor changed since the scan began, each with the time of its newest
// change. It returns their number.
func (sc *scan) findMissing(ctx context.Context) (missing int64, err error) {
	err = sc.conn.QueryEach(ctx, `INSERT INTO rs_missing (key, newest) SELECT key, newest FROM rs_resource r
		WHERE set_id = $1 AND key >= $2 AND key < $3 AND newest <= $4 AND body IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM rs_seen s WHERE s.key = r.key) RETURNING 1`, len(sc.ranges),
		func(i int) []any { return []any{sc.set.id, []byte(sc.ranges[i].From), endOf(sc.ranges[i]), sc.begun} },
		func(int, rowdb.Row) error { missing++; return nil })
	return missing, err
}

// sweep deletes missing resources.
func (sc *scan) sweep(ctx context.Context) error {
	after := []byte{}
	for {
		var gone []changes.Edit
		err := sc.conn.Query(ctx, "SELECT key FROM rs_missing WHERE key > $1 ORDER BY key LIMIT $2",
			func(row rowdb.Row) error {
				gone = append(gone, changes.Edit{Type: resourcesync.Deleted, Key: rowdb.String(row, 0)})
				return nil
			}, after, batch)
		if err == nil {
			err = sc.change(ctx, gone)
		}
		if err != nil {
			return err
		}
		if len(gone) < batch {
			break
		}
		after = []byte(gone[batch-1].Key)
	}
	return sc.sweepReannounced(ctx)
}

// sweepReannounced deletes the resources that were announced again, are therefore newer
// than the scan, and are not in the listing. Other resources may be announced again for
// each.
func (sc *scan) sweepReannounced(ctx context.Context) error {
	for len(sc.reannounced) > 0 {
		keys := slices.Sorted(maps.Keys(sc.reannounced))
		keys = keys[:min(len(keys), batch)]
		var gone []changes.Edit
		err := sc.conn.QueryEach(ctx, "SELECT EXISTS (SELECT 1 FROM rs_seen WHERE key = $1)", len(keys),
			func(i int) []any { return []any{[]byte(keys[i])} },
			func(i int, row rowdb.Row) error {
				if row.Int(0) == 0 {
					gone = append(gone, changes.Edit{Type: resourcesync.Deleted, Key: keys[i]})
				}
				return nil
			})
		if err != nil {
			return err
		}
		err = sc.change(ctx, gone)
		if err != nil {
			return err
		}
		for _, key := range keys {
			delete(sc.reannounced, key)
		}
	}
	return nil
}
