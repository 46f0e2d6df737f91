package sqlstore

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Kept describes the resources that the last scan of a set, by any process, has kept
// although they were not in its listing.
type Kept struct {
	// Held is the number of resources whose deletion is held, because there were more
	// than [SetOptions.MaxDelete] allows. Withdrawn resources among them are not
	// listed.
	Held int64

	// Since is when the first of these deletions was held. The first scan after Until
	// publishes them if no resource comes back. Until is zero if they wait for
	// [Set.ConfirmDeletions].
	Since, Until time.Time

	// Confirmed reports whether the next scan publishes them.
	Confirmed bool

	// Unreadable is the number of resources that the scanner could not read and
	// reported by a [resourcesync.UnreadableError].
	Unreadable int64
}

// Kept describes the missing resources that the last scan has kept. The answer is the
// same in all processes that share the database, also after a restart.
func (s *Set) Kept(ctx context.Context) (Kept, error) {
	g, err := readGuard(ctx, s.store.db, s.id)
	if err != nil {
		return Kept{}, s.fail("kept", err)
	}
	k := Kept{Held: g.Held, Unreadable: g.Unreadable, Confirmed: g.Held > 0 && g.Confirmed >= g.Held}
	if g.Held > 0 {
		k.Since = moment(g.Since)
	}
	if until := g.Until(s.limits); until != 0 {
		k.Until = moment(until)
	}
	return k, nil
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
