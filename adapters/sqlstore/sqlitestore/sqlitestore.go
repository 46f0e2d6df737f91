// Package sqlitestore opens the stores of package sqlstore in SQLite, which is embedded and
// needs no installation.
//
// A store can share a file with the host. In the same process the host must use the copy
// of SQLite that this package uses: zombiezen.com/go/sqlite, or modernc.org/sqlite for
// database/sql. A driver with another copy, such as mattn/go-sqlite3, destroys the file;
// it may open the file only from another process.
//
// The store holds the write lock for moments only, so the host's connections need a busy
// timeout of some seconds, and transactions that begin IMMEDIATE (_txlock=immediate in
// the DSN of a driver): a deferred one can fail with SQLITE_BUSY, regardless of the
// timeout, when it has read and begins to write. Other processes may write to the file as
// well, because writers wait for the lock. One process at a time should run the Source: two
// scan the same origin in turn, but each learns of the other's changes only by polling.
package sqlitestore

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"runtime"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

//go:embed migrations
var migrations embed.FS

// OpenFile returns the store in the SQLite database file at path. It creates the file if
// it does not exist, in a folder that exists, and creates or migrates the tables. Files beside it whose names begin
// with path belong to the database. A commit survives a power failure. Closing the store
// closes the database. opts may be nil.
func OpenFile(ctx context.Context, path string, opts *sqlstore.Options) (*sqlstore.Store, error) {
	db, err := sqlitedb.Open(ctx, path, poolSize())
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	return seam.As[sqlstore.Store](seam.OpenStore(ctx, db, migrations, opts))
}

// poolSize returns the number of connections for a file: a constant number for background
// work, and two per core for readers.
func poolSize() int { return 8 + 2*runtime.GOMAXPROCS(0) }

// Open returns the store in the database of pool, which must be a file in journal
// mode WAL. It creates or migrates the tables. The synchronous pragma of the connections
// determines how durable a commit is; FULL is recommended. The pool should have at least
// ten connections. The caller closes it, after the store. If the program contains another
// copy of SQLite, Open logs a warning, once per process. opts may be nil.
func Open(ctx context.Context, pool *sqlitex.Pool, opts *sqlstore.Options) (*sqlstore.Store, error) {
	db, err := sqlitedb.New(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	if opts != nil && opts.Logger != nil {
		sqlitedb.WarnOfCopies(opts.Logger)
	} else {
		sqlitedb.WarnOfCopies(slog.Default())
	}
	return seam.As[sqlstore.Store](seam.OpenStore(ctx, db, migrations, opts))
}

// Tx returns the transaction that conn is in, for [sqlstore.Journal.Record]. If conn is not
// in a transaction, each statement of Record is its own transaction. The transaction of
// database/sql is [sqlstore.SQLTx].
func Tx(conn *sqlite.Conn) sqlstore.Tx { return transaction{conn} }

type transaction struct{ conn *sqlite.Conn }

// Exec implements [sqlstore.Tx].
func (t transaction) Exec(ctx context.Context, query string, args ...[]any) error {
	return sqlitedb.Wrap(t.conn).ExecEach(ctx, query, len(args), func(i int) []any { return args[i] })
}
