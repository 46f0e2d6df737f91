package sqlstore

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Seals implements [resourcesync.Sealer].
func (j *Journal) Seals(ctx context.Context, after time.Time) (ends []time.Time, err error) {
	err = j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT until FROM rs_seal WHERE set_id = $1 AND until > $2 ORDER BY until",
			func(row rowdb.Row) error { ends = append(ends, moment(row.Int(0))); return nil }, j.id, after.UnixMicro())
	})
	return ends, j.fail("seals", err)
}

// Seal implements [resourcesync.Sealer]. No change is numbered in the meantime, so every
// process that sees a later change also sees the seal.
func (j *Journal) Seal(ctx context.Context, newest time.Time) error {
	err := j.store.db.Update(ctx, func(c rowdb.Conn) error {
		var last int64
		err := c.Query(ctx, "SELECT at FROM rs_change WHERE set_id = $1 AND at >= $2 ORDER BY at LIMIT 2",
			func(row rowdb.Row) error { last = row.Int(0); return nil }, j.id, newest.UnixMicro())
		if err != nil || !moment(last).Equal(newest) {
			return err
		}
		_, err = c.Exec(ctx, "INSERT INTO rs_seal (set_id, until) VALUES ($1, $2) ON CONFLICT DO NOTHING", j.id, last)
		return err
	})
	return j.fail("seal", err)
}
