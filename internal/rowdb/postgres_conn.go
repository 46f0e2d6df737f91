package rowdb

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
)

type postgresConn struct{ conn *pgx.Conn }

// postgresRow is a row in PostgreSQL's binary format.
type postgresRow struct{ values [][]byte }

func (r *postgresRow) Int(column int) int64 {
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

func (r *postgresRow) Append(dst []byte, column int) []byte { return append(dst, r.values[column]...) }
func (r *postgresRow) Null(column int) bool                 { return r.values[column] == nil }

func (c *postgresConn) Query(ctx context.Context, sql string, each func(Row) error, args ...any) error {
	if err := check(args); err != nil {
		return err
	}
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	return read(rows, each)
}

func read(rows pgx.Rows, each func(Row) error) error {
	defer rows.Close()
	var r postgresRow
	for rows.Next() {
		r.values = rows.RawValues()
		if err := each(&r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// most is how many statements are sent before their results are read.
const most = 1000

func (c *postgresConn) QueryEach(ctx context.Context, sql string, n int, args func(int) []any, each func(int, Row) error) error {
	for first := 0; first < n; first += most {
		var batch pgx.Batch
		last := min(first+most, n)
		for i := first; i < last; i++ {
			a := args(i)
			if err := check(a); err != nil {
				return err
			}
			batch.Queue(sql, a...)
		}
		if err := c.send(ctx, &batch, func(i int, r Row) error { return each(first+i, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *postgresConn) send(ctx context.Context, batch *pgx.Batch, each func(int, Row) error) (err error) {
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
		if err := read(rows, func(r Row) error { return each(i, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *postgresConn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := check(args); err != nil {
		return 0, err
	}
	tag, err := c.conn.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (c *postgresConn) ExecEach(ctx context.Context, sql string, n int, args func(int) []any) error {
	return c.QueryEach(ctx, sql, n, args, func(int, Row) error {
		return errors.New("rowdb: a statement for ExecEach returned a row")
	})
}

func (c *postgresConn) Script(ctx context.Context, sql string) error {
	_, err := c.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func check(args []any) error {
	for _, arg := range args {
		switch arg.(type) {
		case nil, int, int64, string, []byte:
		default:
			return badArgument(arg)
		}
	}
	return nil
}
