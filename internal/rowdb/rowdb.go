// Package rowdb is a small interface to the rows of a database. Package sqlitedb
// implements it for SQLite with zombiezen.com/go/sqlite, and package pgdb for
// PostgreSQL with pgx. Each is a package of its own, so that a program links the
// engines that it uses and no others.
//
// The interface is narrow to be fast: a value is copied once, from the driver
// into the caller's buffer, and is never boxed as database/sql does. The SQLite
// driver was chosen by measurement: 50,000 rows of about 250 bytes in a table
// WITHOUT ROWID, medians of three on a busy machine:
//
//	                               read all    100 inserts and a commit, synchronous=FULL
//	zombiezen.com/go/sqlite 1.4    26 ms       2.7 ms
//	ncruces/go-sqlite3 0.30        49 ms       3.0 ms
//	modernc, database/sql          58 ms, seven allocations a row
//
// # SQL
//
// Statements are written once for both engines wherever their dialects meet.
// Parameters are $1, $2 and so on, and must appear in this order for the first
// time: SQLite takes them for names and numbers them as they come. An argument is
// nil, an int, an int64, a string or a []byte. Integer columns are bigint. Sums
// are cast to bigint, which PostgreSQL would make numeric.
//
// Keys are bytea and blob, because their order is that of bytes and they need not
// be valid UTF-8.
package rowdb

import (
	"context"
	"errors"
	"fmt"
)

// A Dialect is an engine's way of speaking SQL.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// A DB is a database. All methods are safe for concurrent use; the connection
// that is passed to a function is for its caller alone and only until it returns.
//
// Errors are those of the engines, wrapped. When ctx is done they match its
// error.
type DB interface {
	// Dialect returns the engine's dialect.
	Dialect() Dialect

	// Schema returns the schema of the tables, quoted, or "" in SQLite.
	Schema() string

	// Close returns the connections that are kept in use to the pool, and closes
	// a pool that the DB opened itself. No other method may be running or be
	// called later.
	Close() error

	// Do runs f with a connection. Every statement is a transaction. In
	// PostgreSQL the planner goes by its statistics, which may be missing or
	// old. Everything but Do makes it follow indexes, so a statement that
	// reads a few of many rows in order belongs into a Snapshot.
	Do(ctx context.Context, f func(Conn) error) error

	// Snapshot runs f in a transaction that only reads and whose statements
	// all see the same state.
	Snapshot(ctx context.Context, f func(Conn) error) error

	// Update runs f in a transaction that writes, and commits it if f
	// returns nil. One Update runs at a time, in all processes together, and
	// its statements see everything that was committed before it began. A
	// process that stops in the middle of one does not hold up the others
	// for more than a few seconds.
	Update(ctx context.Context, f func(Conn) error) error

	// Write runs f in a transaction that writes, and commits it if f returns
	// nil, as Update does, but it does not wait for an Update to end, nor for
	// another Write unless both write the same row. In PostgreSQL each of its
	// statements sees what was committed before that statement; what f has
	// read it locks if it must stay so. In SQLite it is the same as Update.
	Write(ctx context.Context, f func(Conn) error) error

	// Session runs f with a connection whose temporary tables nobody else
	// sees, and which are gone when f returns.
	Session(ctx context.Context, f func(Conn) error) error

	// TryLock runs f while it holds lock n of this database, if no one else
	// does, in whatever process, and reports whether it could. The lock is
	// free again when f returns and a few seconds after the process has
	// died, or was stopped or cut off. In the latter cases f's context ends:
	// what f does from then on must do no harm.
	TryLock(ctx context.Context, n int32, f func(ctx context.Context) error) (bool, error)

	// Listen calls wake whenever something may have been committed to the
	// tables that notify (in PostgreSQL those with a trigger for that, in
	// SQLite all), in whatever process, until ctx is done or listening fails.
	Listen(ctx context.Context, wake func()) error
}

// A Conn is a connection to a database, or a transaction on it.
type Conn interface {
	// Query calls each with every row, until it returns an error, which
	// Query returns.
	Query(ctx context.Context, sql string, each func(Row) error, args ...any) error

	// QueryEach runs a statement n times, with the arguments that args
	// returns for 0 to n-1, and calls each with every row of the i-th, in
	// order. Slices in the arguments must stay as they are until QueryEach
	// returns.
	QueryEach(ctx context.Context, sql string, n int, args func(i int) []any, each func(i int, row Row) error) error

	// Exec runs a statement and returns the number of rows it wrote.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// ExecEach runs a statement n times, with the arguments that args
	// returns for 0 to n-1.
	ExecEach(ctx context.Context, sql string, n int, args func(i int) []any) error

	// Script runs any number of statements without parameters. A comment may
	// come before a statement, not after the last.
	Script(ctx context.Context, sql string) error

	// Notify wakes the listeners of all processes when the transaction has
	// been committed.
	Notify(ctx context.Context) error
}

// A Row is one row of a result, until the next. Columns count from 0.
type Row interface {
	// Int returns the integer or truth value in a column, 0 if it is NULL.
	Int(column int) int64

	// Append appends the bytes of the text or blob in a column to dst.
	Append(dst []byte, column int) []byte

	// Null reports whether a column is NULL.
	Null(column int) bool
}

// String is the text in a column, copied.
func String(r Row, column int) string { return string(r.Append(nil, column)) }

// ErrDamaged reports content of a database that differs from what was written.
var ErrDamaged = errors.New("the database is damaged; restore a backup, or start with an empty database")

// ContextError returns ctx's error if ctx is done, and err otherwise. Drivers
// report an interrupted statement in their own words, which callers do not expect.
// It is for implementations of [DB].
func ContextError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// ArgumentError returns the error for an argument of a type that [Conn] does not
// accept. It is for implementations of Conn.
func ArgumentError(v any) error { return fmt.Errorf("rowdb: an argument is of type %T", v) }
