package sqlitedb

import (
	"context"
	"errors"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Wrap returns conn as a Conn. Its statements are part of the transaction that conn
// is in, and are interrupted as conn is set up to be.
func Wrap(conn *sqlite.Conn) rowdb.Conn { return &connection{conn} }

type connection struct{ conn *sqlite.Conn }

type row struct{ *sqlite.Stmt }

func (r row) Int(column int) int64 { return r.ColumnInt64(column) }
func (r row) Null(column int) bool { return r.ColumnIsNull(column) }

func (r row) Append(dst []byte, column int) []byte {
	// Asking for the length first would cost as much as copying the value.
	room := dst[len(dst):cap(dst)]
	n := r.ColumnBytes(column, room)
	if n == len(room) {
		dst = slices.Grow(dst, r.ColumnLen(column)+1)
		n = r.ColumnBytes(column, dst[len(dst):cap(dst)])
	}
	return dst[:len(dst)+n]
}

func (c *connection) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return c.QueryEach(ctx, sql, 1,
		func(int) []any { return args },
		func(_ int, r rowdb.Row) error { return each(r) })
}

func (c *connection) QueryEach(_ context.Context, sql string, n int, args func(int) []any, each func(int, rowdb.Row) error) error {
	stmt, err := c.conn.Prepare(opaqueLimit(sql))
	if err != nil {
		return err
	}
	defer stmt.Reset()
	var r rowdb.Row = row{stmt}
	for i := range n {
		if err := bind(stmt, args(i)); err != nil {
			return err
		}
		for {
			found, err := stmt.Step()
			if err != nil {
				return err
			}
			if !found {
				break
			}
			if err := each(i, r); err != nil {
				return err
			}
		}
		if err := stmt.Reset(); err != nil {
			return err
		}
	}
	return nil
}

// opaqueLimit hides the parameter of LIMIT from the planner. SQLite would prepare the
// statement again whenever a value is bound, because the plan may depend on the limit.
// That takes ten times as long as reading a few rows.
func opaqueLimit(sql string) string { return strings.ReplaceAll(sql, "LIMIT $", "LIMIT +$") }

func (c *connection) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	err := c.ExecEach(ctx, sql, 1, func(int) []any { return args })
	return int64(c.conn.Changes()), err
}

func (c *connection) ExecEach(ctx context.Context, sql string, n int, args func(int) []any) error {
	return c.QueryEach(ctx, sql, n, args, func(int, rowdb.Row) error { return nil })
}

func (c *connection) Script(_ context.Context, sql string) error {
	for sql = strings.TrimSpace(sql); sql != ""; {
		stmt, trailing, err := c.conn.PrepareTransient(sql)
		if err != nil {
			return err
		}
		for found := true; found && err == nil; {
			found, err = stmt.Step()
		}
		if err := errors.Join(err, stmt.Finalize()); err != nil {
			return err
		}
		sql = strings.TrimSpace(sql[len(sql)-trailing:])
	}
	return nil
}

// Notify does nothing, because listeners poll for commits.
func (c *connection) Notify(context.Context) error { return nil }

// run runs a statement without parameters and rows.
func (c *connection) run(sql string) error {
	stmt, err := c.conn.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = stmt.Step()
	stmt.Reset()
	return err
}

func bind(stmt *sqlite.Stmt, args []any) error {
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case int:
			stmt.BindInt64(i+1, int64(v))
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			if v == nil {
				stmt.BindNull(i + 1)
			} else {
				stmt.BindBytes(i+1, v)
			}
		default:
			return rowdb.ArgumentError(arg)
		}
	}
	return nil
}
