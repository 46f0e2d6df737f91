package sqlstore

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Kept describes the resources that the last scan of a set, by any process, has kept
// although its listing did not name it.
type Kept struct {
	// Held counts the resources whose deletion is held: there were more than
	// [SetOptions.MaxDelete] allows. Those that were withdrawn are not listed all
	// the same.
	Held int64

	// Since is when deletions began to be held. Until is when they are
	// published if nothing comes back, by the first scan after it; it is zero
	// if they wait for [Set.ConfirmDeletions].
	Since, Until time.Time

	// Confirmed reports whether the next scan will publish them.
	Confirmed bool

	// Unreadable counts the resources that the scanner could not read, as it
	// said by a [resourcesync.UnreadableError].
	Unreadable int64
}

// Kept returns the missing resources that the last scan has kept. All processes that
// share the database have the same answer, before and after a restart.
func (s *Set) Kept(ctx context.Context) (Kept, error) {
	var g guard.State
	err := s.store.db.Do(ctx, func(c rowdb.Conn) (err error) {
		g, err = readGuard(ctx, c, s.id)
		return err
	})
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

// ConfirmDeletions lets the next scan publish the deletions that are held, and
// returns their number. Should more be missing by then, all of them are held again.
// It works in any process that has the database open.
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

func readGuard(ctx context.Context, c rowdb.Conn, set int64) (g guard.State, err error) {
	err = c.Query(ctx, "SELECT net, earlier, period, held, since, quiet, confirmed, unreadable FROM rs_guard WHERE set_id = $1",
		func(r rowdb.Row) error {
			g = guard.State{
				Net: r.Int(0), Earlier: r.Int(1), Period: r.Int(2),
				Held: r.Int(3), Since: r.Int(4), Quiet: r.Int(5), Confirmed: r.Int(6),
				Unreadable: r.Int(7),
			}
			return nil
		}, set)
	return g, err
}

func saveGuard(ctx context.Context, c rowdb.Conn, set int64, g guard.State) error {
	_, err := c.Exec(ctx, `INSERT INTO rs_guard (set_id, net, earlier, period, held, since, quiet, confirmed, unreadable)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (set_id) DO UPDATE SET net = excluded.net, earlier = excluded.earlier, period = excluded.period,
			held = excluded.held, since = excluded.since, quiet = excluded.quiet, confirmed = excluded.confirmed, unreadable = excluded.unreadable`,
		set, g.Net, g.Earlier, g.Period, g.Held, g.Since, g.Quiet, g.Confirmed, g.Unreadable)
	return err
}
