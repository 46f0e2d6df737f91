package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Rows that leave a journalled table because its condition has changed are in rs_leaving
// until the guard lets their deletions pass. A row whose URI is journalled again in the
// meantime has never left.

// Kept describes the held deletions of a journal, which a new condition of its table has
// caused; limits are those with which they were judged. See [Set.Kept].
func (j *Journal) Kept(ctx context.Context, limits *scan.SetOptions) (scan.Kept, error) {
	g, err := readGuard(ctx, j.store.db, j.id)
	if err != nil || g.Held == 0 {
		return scan.Kept{}, j.fail("kept", err)
	}
	return stored.Kept(g, stored.Limits(limits)), nil
}

// ConfirmDeletions publishes the held deletions of a journal, and returns their number. Any
// process that has the database open can call it.
func (j *Journal) ConfirmDeletions(ctx context.Context) (published int64, err error) {
	err = j.store.db.Update(ctx, func(c rowdb.Conn) error {
		if err := j.store.numberAll(ctx, c); err != nil { // some may have come back
			return err
		}
		published, err = j.publishLeaving(ctx, c, guard.State{})
		return err
	})
	if err == nil {
		j.store.noteDiscarded()
	}
	return published, j.fail("confirm deletions", err)
}

// ReleaseDeletions publishes the held deletions of a journal if they have been held for long
// enough. It reads one row if there are none.
func (j *Journal) ReleaseDeletions(ctx context.Context, limits *scan.SetOptions) (published int64, err error) {
	k, err := j.Kept(ctx, limits)
	if err != nil || k.Held == 0 || k.Until.IsZero() || j.store.now().Before(k.Until) {
		return 0, err
	}
	return j.ConfirmDeletions(ctx)
}

// leave judges the rows in rs_leaving, as [seam.Leave] says.
func (j *Journal) leave(ctx context.Context, c rowdb.Conn, limits *scan.SetOptions, listed, created int64) (held int64, err error) {
	leaving, err := rowdb.One(ctx, c, rowdb.Int, "SELECT count(*) FROM rs_leaving WHERE set_id = $1", j.id)
	if err != nil {
		return 0, err
	}
	now := j.store.now().UnixMicro()
	if _, err := c.Exec(ctx, "UPDATE rs_set SET last = CASE WHEN last < $1 THEN $1 ELSE last + 1 END WHERE id = $2", now, j.id); err != nil {
		return 0, err
	}
	if _, err := c.Exec(ctx, "UPDATE rs_cover SET moved = (SELECT last FROM rs_set WHERE id = $1) WHERE set_id = $1", j.id); err != nil {
		return 0, err
	}
	before, err := readGuard(ctx, c, j.id)
	if err != nil {
		return 0, err
	}
	g, hold := before.Judge(stored.Limits(limits), guard.Found{
		Begun: now, At: now, Count: listed + created, Created: created, Missing: leaving, Fresh: leaving, // the times of their creation are not known
	})
	if hold {
		err = saveGuard(ctx, c, j.id, g)
		held = leaving
	} else {
		_, err = j.publishLeaving(ctx, c, g)
	}
	if err == nil {
		err = c.Notify(ctx)
	}
	return held, err
}

// publishLeaving records the deletions of the rows that have left, and the state of the guard
// after that.
func (j *Journal) publishLeaving(ctx context.Context, c rowdb.Conn, g guard.State) (n int64, err error) {
	n, err = c.Exec(ctx, "INSERT INTO rs_pending (set_id, change, key, uri) SELECT set_id, 'deleted', key, uri FROM rs_leaving WHERE set_id = $1", j.id)
	if err == nil {
		_, err = c.Exec(ctx, "DELETE FROM rs_leaving WHERE set_id = $1", j.id)
	}
	if err == nil {
		err = saveGuard(ctx, c, j.id, g)
	}
	return n, err
}

// keepReturned removes the rows of rs_leaving that edits create or update again.
func (s *Store) keepReturned(ctx context.Context, c rowdb.Conn, set *setRow, edits []changes.Edit) error {
	g, err := readGuard(ctx, c, set.id)
	if err != nil || g.Held == 0 {
		return err
	}
	var uris []string
	for _, e := range edits {
		if e.Type != resourcesync.Deleted && e.Resource != nil {
			uris = append(uris, e.Resource.URI)
		}
	}
	left := g.Held
	err = c.QueryEach(ctx, "DELETE FROM rs_leaving WHERE set_id = $1 AND substr(uri, 1, 500) = substr($2, 1, 500) AND uri = $2 RETURNING 1", len(uris),
		func(i int) []any { return []any{set.id, uris[i]} },
		func(int, rowdb.Row) error { left--; return nil })
	switch {
	case err != nil || left == g.Held:
		return err
	case left == 0:
		g = guard.State{}
	default:
		g.Held, g.Quiet = left, s.now().UnixMicro()
	}
	return saveGuard(ctx, c, set.id, g)
}
