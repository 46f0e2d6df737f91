// Package sqlitetable opens tables, views and queries of SQLite for package sqltable,
// and writes triggers for them.
//
// In the same process the host must use the copy of SQLite that this package uses:
// zombiezen.com/go/sqlite, or modernc.org/sqlite for database/sql. A driver with another
// copy, such as mattn/go-sqlite3, destroys the file; it may open the file only from
// another process.
package sqlitetable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

// Open returns the Set of a table in the database of pool, whose encoding must
// be UTF-8. If the table does not match t, or cannot be read in the order of its keys, the
// error names the cause and a remedy. If the program contains another copy of SQLite, Open
// logs a warning to slog.Default(), once per process. The caller closes the pool.
//
// Reading a page is an ordinary read transaction: in journal mode WAL, which is
// recommended, it does not block writers.
func Open(ctx context.Context, pool *sqlitex.Pool, t sqltable.Table) (*sqltable.Set, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	return seam.As[sqltable.Set](engine.Open(ctx, &database{pool: pool}, t))
}

// OpenFile returns the Set of a table in the SQLite database file at path, which must exist,
// like [Open] otherwise. Closing the Set, or the Journalled that is made of it, closes the
// database. A [sqlitestore.OpenFile] of the same path is the store for its journal. The
// application may have the file open as well, by the drivers that the package names.
//
// [sqlitestore.OpenFile]: https://pkg.go.dev/github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore#OpenFile
func OpenFile(ctx context.Context, path string, t sqltable.Table) (*sqltable.Set, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	if err := sqlitedb.CheckLinks(path); err != nil {
		return nil, fmt.Errorf("sqltable: open %s: %w", path, err)
	}
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{Flags: sqlite.OpenReadWrite, PoolSize: 4 + 2*runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, fmt.Errorf("sqltable: open %s: %w", path, err)
	}
	set, err := seam.As[sqltable.Set](engine.Open(ctx, &database{pool: pool, own: true}, t))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return set, nil
}

// List returns the Listing of a table, view or query in the database of pool, for a
// comparison with a stored set. It serves keys in any collation and views without an index.
// o may be nil. The caller closes the pool.
func List(ctx context.Context, pool *sqlitex.Pool, t sqltable.Table, o *sqltable.ListingOptions) (*sqltable.Listing, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	return seam.As[sqltable.Listing](engine.List(ctx, &database{pool: pool}, t, o))
}

// Triggers returns a writer of triggers for tables in the database of pool. The store must
// be in the same file.
func Triggers(pool *sqlitex.Pool) *sqltable.Triggers {
	return engine.Triggers(&database{pool: pool}).(*sqltable.Triggers)
}

type database struct {
	pool *sqlitex.Pool
	own  bool // the Set closes the pool
}

// Close implements [engine.Closer].
func (db *database) Close() error {
	if !db.own {
		return nil
	}
	return db.pool.Close()
}

func (*database) Quote(name string) string {
	// In double quotes, SQLite would treat the name of a missing column as text.
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (*database) Parameter(n int, _ engine.Kind) string { return "$" + strconv.Itoa(n) }

func (db *database) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.take(ctx, func(conn *sqlite.Conn) error { return sqlitedb.Wrap(conn).Query(ctx, sql, each, args...) })
}

// QueryInOrder reads a page. It empties the cache of the connection, which the next page does
// not need. The pool hands out its connections in turn, so that each would fill its cache.
func (db *database) QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.take(ctx, func(conn *sqlite.Conn) error {
		c := sqlitedb.Wrap(conn)
		err := c.Query(ctx, sql, each, args...)
		_ = c.Script(ctx, "PRAGMA shrink_memory")
		return err
	})
}

func (db *database) take(ctx context.Context, f func(*sqlite.Conn) error) error {
	conn, err := db.pool.Take(ctx)
	if err == nil {
		defer db.pool.Put(conn)
		err = f(conn)
	}
	return rowdb.ContextError(ctx, err) // the connection may have been interrupted
}

// look is like take, for statements about the schema.
func (db *database) look(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(conn *sqlite.Conn) error {
		return errors.Join(refresh(conn), f(sqlitedb.Wrap(conn)))
	})
}

// refresh reads a table, because SQLite notices only then that another connection has
// changed the schema.
func refresh(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", nil)
}

func (*database) ByBytes(k *engine.Key) string {
	if k.Kind == engine.Integer {
		return k.Ref
	}
	return k.Ref + " COLLATE BINARY"
}

func (*database) Fits(k *engine.Key, most int) string {
	if k.Kind == engine.Text || k.Kind == engine.Binary {
		return fmt.Sprintf("length(CAST(%s AS BLOB)) <= %d", k.Ref, most)
	}
	return ""
}

// LengthRef implements [engine.DB]. Any column of SQLite can hold text, which would be read as 0.
func (*database) LengthRef(c *engine.Column) string {
	return fmt.Sprintf(`CASE WHEN %s IS NULL OR typeof(%[1]s) = 'integer' THEN %[1]s
		WHEN typeof(%[1]s) = 'real' AND %[1]s = CAST(%[1]s AS INTEGER) OR typeof(%[1]s) = 'text' AND %[1]s <> '' AND %[1]s NOT GLOB '*[^0-9]*'
			THEN CAST(%[1]s AS INTEGER) ELSE %d END`, c.Ref, int64(math.MaxInt64))
}

func (*database) IsLive(c *engine.Column) string {
	return fmt.Sprintf("(%s IS NULL OR %[1]s = 0 OR %[1]s = '')", c.Ref)
}
