// Package rowdb is a small interface to the rows of a database. Package sqlitedb
// implements it for SQLite with zombiezen.com/go/sqlite, and package pgdb for
// PostgreSQL with pgx. The packages are separate, so that a program links only the engines
// that it uses.
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
// Both engines use the same statements wherever their dialects allow. Parameters are $1,
// $2 and so on, and must first appear in this order, because SQLite takes them for names
// and numbers them by appearance. An argument is nil, an int, an int64, a string or a
// []byte. Integer columns are bigint. Sums are cast to bigint, because PostgreSQL would
// return numeric.
//
// Keys are bytea and blob, because they are ordered by their bytes and need not be valid
// UTF-8.
package rowdb

import (
	"context"
	"errors"
	"fmt"
)

// A Dialect is an SQL dialect.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// A DB is a database. All methods are safe for concurrent use. A connection that is
// passed to a function must be used by that function only, and not after it has
// returned.
//
// Errors wrap the errors of the drivers. When ctx is done they match its error.
type DB interface {
	Querier

	// Dialect returns the dialect of the engine.
	Dialect() Dialect

	// Schema returns the schema of the tables, quoted, or "" in SQLite.
	Schema() string

	// File returns the absolute path of the database file, or "" in PostgreSQL.
	File() string

	// History returns the name of the history that the database has, or "" if it has none:
	// SQLite, and PostgreSQL if the role may not see it. A standby that has become the primary,
	// and a database that was restored, have another history, which may lack the last
	// transactions of the former one.
	History(ctx context.Context) (string, error)

	// Close returns the connections that are kept in use to the pool, and closes
	// a pool that the DB opened itself. No other method may be running or be
	// called later.
	Close() error

	// Do runs f with a connection. Every statement is a transaction. In PostgreSQL the
	// planner uses its statistics, which may be missing or old. All other methods make
	// it follow indexes, so use Snapshot for a statement that reads a few of many rows
	// in order.
	Do(ctx context.Context, f func(Conn) error) error

	// Snapshot runs f in a read-only transaction whose statements all see the same
	// state.
	Snapshot(ctx context.Context, f func(Conn) error) error

	// Update runs f in a transaction that writes, and commits it if f returns nil. One
	// Update runs at a time, across all processes, and its statements see everything
	// that was committed before it began. A process that stops during an Update blocks
	// the others for a few seconds at most.
	Update(ctx context.Context, f func(Conn) error) error

	// Write runs f in a transaction that writes, and commits it if f returns nil.
	// Unlike Update, it does not wait for an Update to end, nor for another Write
	// unless both write the same row. In PostgreSQL each of its statements sees what
	// was committed before that statement; f must lock rows that must not change after
	// it has read them. In SQLite, Write is the same as Update.
	Write(ctx context.Context, f func(Conn) error) error

	// TryWrite is like Write, unless that would wait for the write lock of SQLite. Then it
	// does nothing, and returns false. It is for readers, which must not wait for writers.
	TryWrite(ctx context.Context, f func(Conn) error) (bool, error)

	// Session runs f with a dedicated connection for temporary tables, which are dropped when f
	// returns.
	Session(ctx context.Context, f func(Conn) error) error

	// TryLock runs f while it holds lock n of this database, and reports whether the
	// lock was free. No other call, in any process, gets the lock until f returns. If
	// the process dies, stops or is cut off from the database, the lock becomes free
	// after a few seconds, and the context of f is cancelled: anything that f does after
	// that must do no harm.
	TryLock(ctx context.Context, n int32, f func(ctx context.Context) error) (bool, error)

	// TryLockNamed is like TryLock, with a lock that has a name, of any length.
	TryLockNamed(ctx context.Context, name string, f func(ctx context.Context) error) (bool, error)

	// Listen calls wake whenever any process may have committed a change, until ctx is
	// done or listening fails. In PostgreSQL these are changes of tables with a trigger
	// that notifies, and calls of Notify; in SQLite, all changes. It also fails within seconds
	// if another server has become the primary.
	Listen(ctx context.Context, wake func()) error
}

// A Poller is a DB in which notifications make writers wait for each other.
type Poller interface {
	// Poll runs f while inserts do not notify, and reports whether it ran: f looks for changes by
	// itself. An insert that is committed after f has ended need not have notified.
	Poll(ctx context.Context, f func(ctx context.Context) error) (bool, error)
}

// A Standby is a server that replays the transactions of a DB, somewhat later. All methods are safe for
// concurrent use.
type Standby interface {
	// Snapshot is [DB.Snapshot]. It fails within a second if the standby cannot be reached, or if
	// its state may never have been one of the primary that this process uses. A standby
	// may also end f at any time, if its replay must not wait.
	Snapshot(ctx context.Context, f func(Conn) error) error
}

// A Querier runs single statements. As a DB, it runs each as [DB.Do] does.
type Querier interface {
	// Query calls each with every row. If each returns an error, Query stops and
	// returns it.
	Query(ctx context.Context, sql string, each func(Row) error, args ...any) error
}

// A Conn is a connection to a database, or a transaction on it.
type Conn interface {
	Querier

	// QueryEach runs a statement n times, with the arguments args(0) to args(n-1), and
	// calls each with every row of the i-th run, in order. Slices in the arguments must
	// not change until QueryEach returns.
	QueryEach(ctx context.Context, sql string, n int, args func(i int) []any, each func(i int, row Row) error) error

	// Exec runs a statement and returns the number of rows that it has written.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// ExecEach runs a statement n times, with the arguments args(0) to args(n-1).
	ExecEach(ctx context.Context, sql string, n int, args func(i int) []any) error

	// Script runs any number of statements without parameters. A comment may precede a
	// statement, but not follow the last one.
	Script(ctx context.Context, sql string) error

	// Notify wakes the listeners of all processes when the transaction has
	// been committed.
	Notify(ctx context.Context) error
}

// A Row is one row of a result. It is valid until the next row. Columns count from 0.
type Row interface {
	// Int returns the integer or boolean in a column, or 0 if it is NULL.
	Int(column int) int64

	// Append appends the bytes of the text or blob in a column to dst.
	Append(dst []byte, column int) []byte

	// Null reports whether a column is NULL.
	Null(column int) bool
}

// String returns a copy of the text in a column.
func String(r Row, column int) string { return string(r.Append(nil, column)) }

// Int returns the integer in the first column of a row.
func Int(r Row) int64 { return r.Int(0) }

// Text returns a copy of the text in the first column of a row.
func Text(r Row) string { return String(r, 0) }

// All returns the results of read for each row of a query.
func All[T any](ctx context.Context, c Querier, read func(Row) T, sql string, args ...any) (all []T, err error) {
	err = c.Query(ctx, sql, func(r Row) error { all = append(all, read(r)); return nil }, args...)
	return all, err
}

// One returns the result of read for the last row of a query, and the zero value if there is
// none.
func One[T any](ctx context.Context, c Querier, read func(Row) T, sql string, args ...any) (one T, err error) {
	err = c.Query(ctx, sql, func(r Row) error { one = read(r); return nil }, args...)
	return one, err
}

// ErrNewer means that the tables are of a newer version of this program.
var ErrNewer = errors.New("a newer version of this program has written the database")

// ErrLeft means that a server has been left behind: this process has already used the server
// that has taken over from it.
var ErrLeft = errors.New("another database server has taken over from this one; stop this one, or remove its address")

// ErrDamaged reports corrupted content of a database.
var ErrDamaged = errors.New("the database is damaged; restore a backup, or start with an empty database")

// ErrStop ends a query without being an error. A [DB] returns it even if its context is done, so
// that an iterator whose consumer has stopped never yields again.
var ErrStop = errors.New("stop")

// ContextError returns ctx's error if ctx is done and err is not ErrStop, and err otherwise.
// Drivers report an interrupted statement in their own words, which callers do not expect.
// It is for implementations of [DB].
func ContextError(ctx context.Context, err error) error {
	if err != nil && err != ErrStop && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// ArgumentError returns the error for an argument of a type that [Conn] does not
// accept. It is for implementations of Conn.
func ArgumentError(v any) error { return fmt.Errorf("rowdb: an argument is of type %T", v) }
