package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Kept describes the missing resources that the last scan has kept. The answer is the
// same in all processes that share the database, also after a restart.
func (s *Set) Kept(ctx context.Context) (scan.Kept, error) {
	g, err := readGuard(ctx, s.store.db, s.id)
	if err != nil {
		return scan.Kept{}, s.fail("kept", err)
	}
	return stored.Kept(g, s.limits), nil
}

// ConfirmDeletions lets the next scan publish the held deletions, and returns their
// number. If more resources are missing by then, all of them are held again. Any process
// that has the database open can call it.
func (s *Set) ConfirmDeletions(ctx context.Context) (held int64, err error) {
	err = s.store.db.Update(ctx, func(c rowdb.Conn) error {
		g, err := readGuard(ctx, c, s.id)
		if err != nil || g.Held == 0 {
			return err
		}
		held, g.Confirmed = g.Held, g.Held
		return saveGuard(ctx, c, s.id, g)
	})
	return held, s.fail("confirm deletions", err)
}

func readGuard(ctx context.Context, c rowdb.Querier, set int64) (guard.State, error) {
	read := func(r rowdb.Row) guard.State {
		return guard.State{
			Net: r.Int(0), Earlier: r.Int(1), Period: r.Int(2),
			Held: r.Int(3), Since: r.Int(4), Quiet: r.Int(5), Confirmed: r.Int(6),
			Unreadable: r.Int(7),
		}
	}
	return rowdb.One(ctx, c, read, "SELECT net, earlier, period, held, since, quiet, confirmed, unreadable FROM rs_guard WHERE set_id = $1", set)
}

func saveGuard(ctx context.Context, c rowdb.Conn, set int64, g guard.State) error {
	_, err := c.Exec(ctx, `INSERT INTO rs_guard (set_id, net, earlier, period, held, since, quiet, confirmed, unreadable)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (set_id) DO UPDATE SET net = excluded.net, earlier = excluded.earlier, period = excluded.period,
			held = excluded.held, since = excluded.since, quiet = excluded.quiet, confirmed = excluded.confirmed, unreadable = excluded.unreadable`,
		set, g.Net, g.Earlier, g.Period, g.Held, g.Since, g.Quiet, g.Confirmed, g.Unreadable)
	return err
}
