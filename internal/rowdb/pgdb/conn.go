package pgdb

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

type connection struct{ conn *pgx.Conn }

// row is a row in PostgreSQL's binary format.
type row struct{ values [][]byte }

func (r *row) Int(column int) int64 {
	switch v := r.values[column]; len(v) {
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	case 1:
		return int64(v[0])
	default:
		return 0
	}
}

func (r *row) Append(dst []byte, column int) []byte { return append(dst, r.values[column]...) }
func (r *row) Null(column int) bool                 { return r.values[column] == nil }

func (c *connection) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	if err := check(args); err != nil {
		return err
	}
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	return read(rows, each)
}

func read(rows pgx.Rows, each func(rowdb.Row) error) error {
	defer rows.Close()
	var r row
	for rows.Next() {
		r.values = rows.RawValues()
		if err := each(&r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxBatch is the number of statements that are sent before their results are read.
const maxBatch = 1000

func (c *connection) QueryEach(ctx context.Context, sql string, n int, args func(int) []any, each func(int, rowdb.Row) error) error {
	for first := 0; first < n; first += maxBatch {
		var batch pgx.Batch
		last := min(first+maxBatch, n)
		for i := first; i < last; i++ {
			a := args(i)
			if err := check(a); err != nil {
				return err
			}
			batch.Queue(sql, a...)
		}
		if err := c.send(ctx, &batch, func(i int, r rowdb.Row) error { return each(first+i, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) send(ctx context.Context, batch *pgx.Batch, each func(int, rowdb.Row) error) (err error) {
	results := c.conn.SendBatch(ctx, batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	for i := range batch.Len() {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := read(rows, func(r rowdb.Row) error { return each(i, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := check(args); err != nil {
		return 0, err
	}
	tag, err := c.conn.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (c *connection) ExecEach(ctx context.Context, sql string, n int, args func(int) []any) error {
	return c.QueryEach(ctx, sql, n, args, func(int, rowdb.Row) error {
		return errors.New("rowdb: a statement for ExecEach returned a row")
	})
}

func (c *connection) Script(ctx context.Context, sql string) error {
	_, err := c.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func check(args []any) error {
	for _, arg := range args {
		switch arg.(type) {
		case nil, int, int64, string, []byte:
		default:
			return rowdb.ArgumentError(arg)
		}
	}
	return nil
}
