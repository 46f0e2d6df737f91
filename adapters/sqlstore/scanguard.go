package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/stored"
)

// judge decides whether to hold the deletions of missing and withdrawn resources. It
// saves the decision to hold them; [scan.settle] saves the other one, after they have
// been made.
func (sc *scanRun) judge(ctx context.Context, m missing) (hold bool, err error) {
	store, id := sc.set.store, sc.set.id
	set, err := readSet(ctx, sc.conn, id)
	if err != nil {
		return false, err
	}
	sc.judged = set.last
	waiting := int64(0)
	if !sc.part {
		if waiting, err = sc.countWithdrawn(ctx); err != nil {
			return false, err
		}
		if approve := sc.set.approve.Load(); waiting > 0 && approve != nil {
			if err := (*approve)(ctx); err != nil {
				return false, err
			}
		}
		sc.set.published.Store(0)
	}
	// The times when withdrawn resources were created are not known.
	missing, fresh := m.count+waiting, m.fresh+waiting
	count := set.count
	if !sc.part {
		count = stored.Judged(count, m.count, &sc.result)
	}
	found := guard.Found{
		Begun: sc.clock, At: store.now().UnixMicro(),
		Count: count + waiting, Created: int64(sc.result.Created), Missing: missing, Fresh: fresh,
	}
	decide := func(c rowdb.Conn) (before guard.State, err error) {
		before, err = readGuard(ctx, c, id)
		if sc.part || m.replaced {
			sc.guard, hold = before.JudgePart(sc.set.limits, found)
		} else {
			sc.guard, hold = before.Judge(sc.set.limits, found)
		}
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
		case hold && sc.whole != nil:
			return nil // the Scan may have found the new names of a renamed folder
		case hold:
			sc.guard.Unreadable = sc.kept(before)
			return saveGuard(ctx, c, id, sc.guard)
		case before.Held > 0:
			// If this process ends before all are deleted, the next scan
			// continues.
			before.Confirmed = missing
			return saveGuard(ctx, c, id, before)
		}
		return nil
	})
	if err == nil && hold {
		sc.result.Held, sc.result.HeldSince = int(missing), moment(sc.guard.Since)
	}
	return hold, err
}

// settle saves the state of the guard if it has changed.
func (sc *scanRun) settle(ctx context.Context) error {
	before, err := readGuard(ctx, sc.conn, sc.set.id)
	sc.guard.Unreadable = sc.kept(before)
	if err != nil || sc.guard == before {
		return err
	}
	return sc.set.store.db.Update(ctx, func(c rowdb.Conn) error {
		return saveGuard(ctx, c, sc.set.id, sc.guard)
	})
}

// kept returns the number of resources that the last complete scan has kept because
// it could not read them. before is the state of the guard before this scan.
func (sc *scanRun) kept(before guard.State) int64 {
	if sc.part {
		return before.Unreadable
	}
	return int64(sc.result.Unreadable)
}

// countWithdrawn returns the number of withdrawn resources whose deletions wait.
func (sc *scanRun) countWithdrawn(ctx context.Context) (waiting int64, err error) {
	err = sc.conn.Query(ctx, "SELECT count(*) FROM rs_withdrawn WHERE set_id = $1 AND at <= $2",
		func(row rowdb.Row) error { waiting = row.Int(0); return nil }, sc.set.id, sc.judged)
	return waiting, err
}

// releaseWithdrawn journals the deletions of withdrawn resources that this scan has
// judged.
func (sc *scanRun) releaseWithdrawn(ctx context.Context) error {
	after := []byte{}
	for n := batch; n == batch; {
		n = 0
		var edits []changes.Edit
		err := sc.conn.Query(ctx, "SELECT key, at FROM rs_withdrawn WHERE set_id = $1 AND key > $2 ORDER BY key LIMIT $3",
			func(row rowdb.Row) error {
				n++
				after = row.Append(after[:0], 0)
				if row.Int(1) <= sc.judged {
					edits = append(edits, changes.Edit{Type: changes.Release, Key: string(after)})
				}
				return nil
			}, sc.set.id, after, batch)
		if err != nil || len(edits) == 0 {
			return err
		}
		done, err := sc.set.change(ctx, edits)
		if err != nil {
			return err
		}
		done.Counts.AddTo(&sc.result)
	}
	return nil
}
