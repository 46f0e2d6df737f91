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

// judge decides whether the deletions of missing or withdrawn resources are held,
// and notes that they are. If not, [scan.settle] notes it when they have been made.
func (sc *scan) judge(ctx context.Context, missing int64) (hold bool, err error) {
	store, id := sc.set.store, sc.set.id
	set, err := readSet(ctx, sc.conn, id)
	if err != nil {
		return false, err
	}
	sc.judged = set.last
	waiting, err := sc.countWithdrawn(ctx)
	if err != nil {
		return false, err
	}
	sc.set.published.Store(0)
	fresh, err := sc.countFresh(ctx, waiting)
	if err != nil {
		return false, err
	}
	missing += waiting
	found := guard.Found{
		Begun: sc.clock, At: store.now().UnixMicro(),
		Count: set.count + waiting, Created: int64(sc.result.Created), Missing: missing, Fresh: fresh,
	}
	decide := func(c rowdb.Conn) (before guard.State, err error) {
		before, err = readGuard(ctx, c, id)
		sc.guard, hold = before.Judge(sc.set.limits, found)
		return before, err
	}
	if missing == 0 {
		_, err := decide(sc.conn)
		return false, err
	}
	err = store.db.Update(ctx, func(c rowdb.Conn) error {
		before, err := decide(c)
		switch {
		case err != nil:
			return err
		case hold:
			sc.guard.Unreadable = int64(sc.result.Unreadable)
			return saveGuard(ctx, c, id, sc.guard)
		case before.Held > 0:
			// Should this process end before all are deleted, the next
			// scan goes on.
			before.Confirmed = missing
			return saveGuard(ctx, c, id, before)
		}
		return nil
	})
	if err == nil && hold {
		sc.result.Held, sc.result.HeldSince = int(sc.guard.Held), moment(sc.guard.Since)
	}
	return hold, err
}

// settle saves the state of the guard if it has changed.
func (sc *scan) settle(ctx context.Context) error {
	sc.guard.Unreadable = int64(sc.result.Unreadable)
	before, err := readGuard(ctx, sc.conn, sc.set.id)
	if err != nil || sc.guard == before {
		return err
	}
	return sc.set.store.db.Update(ctx, func(c rowdb.Conn) error {
		return saveGuard(ctx, c, sc.set.id, sc.guard)
	})
}
