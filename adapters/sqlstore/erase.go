package sqlstore

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Erase removes the changes of the resource at uri from the archive: those already
// archived, and those now in the journal once retention reaches them. It returns the
// number of those in the archive. The journal stays complete: Destinations learn from
// it that they must delete their copies. Later changes are archived again.
//
// Erase reads the whole archive, in batches that do not block other work. If it
// fails, the remaining changes of the resource stay hidden; call Erase again.
func (j *Journal) Erase(ctx context.Context, uri string) (removed int, err error) {
	if err := rsxml.CheckURI(uri); err != nil {
		return 0, j.fail("erase", err)
	}
	var set setRow
	err = j.store.db.Update(ctx, func(c rowdb.Conn) error {
		if set, err = readSet(ctx, c, j.id); err != nil {
			return err
		}
		_, err = c.Exec(ctx, "INSERT INTO rs_erased (set_id, uri, at) VALUES ($1, $2, $3) ON CONFLICT (set_id, uri) DO UPDATE SET at = excluded.at",
			j.id, uri, set.last)
		if err == nil {
			_, err = c.Exec(ctx, "UPDATE rs_set SET erased = $1 WHERE id = $2", max(j.store.now().UnixMicro(), set.erased+1), j.id)
		}
		if err != nil {
			return err
		}
		return c.Notify(ctx)
	})
	for after, more := set.archive, true; more && err == nil; {
		var found []int64
		after, more, found, err = j.findErased(ctx, uri, after, set.since)
		if err == nil && len(found) > 0 {
			err = j.store.db.Update(ctx, func(c rowdb.Conn) error { return eraseChanges(ctx, c, j.id, found) })
			removed += len(found)
		}
	}
	if err != nil {
		return removed, j.fail("erase", err)
	}
	return removed, nil
}

// findErased reads a batch of the changes later than after, up to until. It returns the
// time of the last one, whether there are more, and the times of those of the resource
// at uri.
func (j *Journal) findErased(ctx context.Context, uri string, after, until int64) (last int64, more bool, found []int64, err error) {
	n, last := 0, after
	var body []byte
	err = j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT at, body FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at LIMIT $4",
			func(row rowdb.Row) error {
				n++
				last = row.Int(0)
				if body = row.Append(body[:0], 1); codec.URI(body) == uri {
					found = append(found, last)
				}
				return ctx.Err()
			}, j.id, after, until, batch)
	})
	return last, n == batch, found, err
}

func eraseChanges(ctx context.Context, c rowdb.Conn, set int64, changes []int64) error {
	return c.ExecEach(ctx, "DELETE FROM rs_change WHERE set_id = $1 AND at = $2", len(changes),
		func(i int) []any { return []any{set, changes[i]} })
}

// readErased returns the URIs to erase from the archive of a set, each with the time of
// the last change to erase.
func readErased(ctx context.Context, c rowdb.Conn, set int64) (map[string]time.Time, error) {
	var all map[string]time.Time
	err := c.Query(ctx, "SELECT uri, at FROM rs_erased WHERE set_id = $1", func(row rowdb.Row) error {
		if all == nil {
			all = make(map[string]time.Time)
		}
		all[rowdb.String(row, 0)] = moment(row.Int(1))
		return nil
	}, set)
	return all, err
}
