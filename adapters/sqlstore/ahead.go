package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// An ahead is a batch of pending changes that was read before the transaction that numbers it.
// In SQLite, that transaction blocks all other writers, and a host that tries to write
// sleeps for milliseconds. So the transaction does only the work that cannot be done
// before.
//
// A batch has only valid changes of journals. If another process numbers any of them first, it
// begins with the oldest, and that journal gets a new newest change. So as long as the journals
// have the same newest changes, the rows are still pending. Their ids alone do not show that,
// because SQLite reuses the ids of deleted rows.
type ahead struct {
	last    map[int64]int64 // the newest change of each journal
	sets    []int64         // the sets with pending changes, in the order of their first
	edits   map[int64][]changes.Edit
	encoded map[*resourcesync.Resource]*encodedRow
	changes int
	newest  int64 // the id of the last pending change
	entry   entries.Builder
}

var (
	errStale = errors.New("another process has changed the pending changes")
	errUnfit = errors.New("the transaction that numbers the batch must read it")
)

// readAhead reads the next batch. It is nil if the transaction that numbers it must read it: the
// type of a change of a [Set] depends on its rows, and invalid changes are logged once.
func (s *Store) readAhead(ctx context.Context) (a *ahead, err error) {
	err = s.db.Snapshot(ctx, func(c rowdb.Conn) error {
		a, err = readAheadBy(ctx, c)
		return err
	})
	if err == errUnfit {
		return nil, nil
	}
	return a, err
}

func readAheadBy(ctx context.Context, c rowdb.Conn) (*ahead, error) {
	a := &ahead{last: map[int64]int64{}, edits: map[int64][]changes.Edit{}, encoded: map[*resourcesync.Resource]*encodedRow{}}
	err := c.Query(ctx, "SELECT id, last FROM rs_set WHERE journal = 1 AND ready = 1", func(r rowdb.Row) error {
		a.last[r.Int(0)] = r.Int(1)
		return nil
	})
	if err == nil {
		err = c.Query(ctx, "SELECT "+pendingColumns+" FROM rs_pending ORDER BY id LIMIT $1", func(r rowdb.Row) error { return a.add(readPending(r)) }, batch)
	}
	return a, err
}

func (a *ahead) add(p *pending) error {
	if _, journal := a.last[p.set]; !journal || p.err != nil || len(p.edit.Key) > resourcesync.MaxKeyLength {
		return errUnfit
	}
	if a.edits[p.set] == nil {
		a.sets = append(a.sets, p.set)
	}
	a.edits[p.set] = append(a.edits[p.set], p.edit)
	a.encoded[p.edit.Resource] = a.encode(&p.edit)
	a.changes++
	a.newest = p.id
	return nil
}

// encode returns the body and the size of a change. The size does not depend on the
// datetime of the change, unless it replaces a LastModified that the entry cannot have.
func (a *ahead) encode(e *changes.Edit) *encodedRow {
	row := &encodedRow{body: codec.Append(nil, e.Resource)}
	modified := e.Resource.LastModified.UTC()
	if year := modified.Year(); 1 < year && year <= 9999 {
		c := resourcesync.Change{Type: e.Type, Datetime: modified.Truncate(time.Microsecond), Resource: *e.Resource}
		row.change = int64(a.entry.ChangeSize(&c))
	}
	return row
}

// numberAhead numbers a batch that was read before. If the batch may no longer be pending, or
// may not be the oldest one, it returns errStale, and the transaction must be rolled back.
func (s *Store) numberAhead(ctx context.Context, c rowdb.Conn, a *ahead) error {
	sets := make([]setRow, len(a.sets))
	for i, id := range a.sets {
		set, err := readSet(ctx, c, id)
		if err == errNoSet || err == nil && (!set.journal || set.last != a.last[id]) {
			err = errStale
		}
		if err != nil {
			return err
		}
		sets[i] = set
	}
	newest, err := rowdb.One(ctx, c, rowdb.Int, "SELECT id FROM rs_pending ORDER BY id DESC LIMIT 1")
	if err != nil {
		return err
	}
	var deleted int64
	if newest == a.newest {
		deleted, err = c.Exec(ctx, "DELETE FROM rs_pending") // frees pages, and reads no rows
	} else {
		deleted, err = c.Exec(ctx, "DELETE FROM rs_pending WHERE id <= $1", a.newest)
	}
	if err == nil && deleted != int64(a.changes) {
		err = errStale
	}
	for i := range sets {
		if err == nil {
			err = s.numberEdits(ctx, c, &sets[i], a.edits[sets[i].id], &preload{encoded: a.encoded})
		}
	}
	return err
}
