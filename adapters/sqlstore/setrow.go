package sqlstore

import (
	"context"
	"errors"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// setRow is a row of rs_set.
type setRow struct {
	id      int64
	name    string
	journal bool
	ready   bool
	begin   int64
	since   int64
	last    int64
	count   int64

	archive   int64
	forgotten int64
	erased    int64
}

const setColumns = "id, name, journal, ready, begin, since, last, count, archive, forgotten, erased"

func (r *setRow) read(row rowdb.Row) {
	*r = setRow{
		id:      row.Int(0),
		name:    rowdb.String(row, 1),
		journal: row.Int(2) != 0,
		ready:   row.Int(3) != 0,
		begin:   row.Int(4),
		since:   row.Int(5),
		last:    row.Int(6),
		count:   row.Int(7),

		archive:   row.Int(8),
		forgotten: row.Int(9),
		erased:    row.Int(10),
	}
}

func (s *Store) findSet(ctx context.Context, name string) (found *setRow, err error) {
	err = s.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT "+setColumns+" FROM rs_set WHERE name = $1", func(row rowdb.Row) error {
			found = new(setRow)
			found.read(row)
			return nil
		}, name)
	})
	return found, err
}

func (s *Store) makeSet(ctx context.Context, r setRow) error {
	now := s.now().UnixMicro()
	return s.db.Update(ctx, func(c rowdb.Conn) error {
		n, err := c.Exec(ctx, `INSERT INTO rs_set (name, journal, ready, begin, since, last, count, archive)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (name) DO NOTHING`,
			r.name, number(r.journal), number(r.ready), now, now, now, now)
		if err != nil || n == 0 || r.journal {
			return err
		}
		_, err = c.Exec(ctx, `INSERT INTO rs_block (set_id, lo, rows, count, bytes, newest)
			SELECT id, $1, 0, 0, 0, 0 FROM rs_set WHERE name = $2`, []byte{}, r.name)
		return err
	})
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

var errNoSet = errors.New("the set is not in the store")

// readSet returns the row of the set by a connection, for an update or as part
// of a snapshot.
func readSet(ctx context.Context, c rowdb.Conn, id int64) (r setRow, err error) {
	err = c.Query(ctx, "SELECT "+setColumns+" FROM rs_set WHERE id = $1",
		func(row rowdb.Row) error { r.read(row); return nil }, id)
	if err == nil && r.id == 0 {
		err = errNoSet
	}
	return r, err
}
