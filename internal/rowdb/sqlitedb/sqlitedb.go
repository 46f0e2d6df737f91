// Package sqlitedb implements rowdb for SQLite, with zombiezen.com/go/sqlite.
package sqlitedb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// The size of the cache of each connection, in KiB. The file is in the system's cache anyway,
// and a larger one makes reading no faster. Scans write to random pages of an index, and must
// not write each several times. The allocator needs twice as much memory.
const (
	readingCache = "PRAGMA cache_size=-2048"
	writingCache = "PRAGMA cache_size=-4096"
)

type database struct {
	pool *sqlitex.Pool
	own  bool // Close closes the pool
	path string

	mu     sync.Mutex
	hot    []*sqlite.Conn // kept in use; the last was used last
	most   int            // of them
	spare  int            // connections in the pool, 0 if it is the caller's, less those who take one
	closed bool
}

// Open opens the SQLite database file at path with a pool of size connections. It
// creates the file, readable by its owner only, if there is none. The database has a
// write-ahead log, so that readers and the writer do not wait for each other, and
// synchronous=FULL, so that a commit survives a power cut. Foreign keys are not
// enforced. A file with several names is refused, see [CheckLinks].
func Open(ctx context.Context, path string, size int) (rowdb.DB, error) {
	pool, err := openPool(ctx, path, size)
	if err != nil {
		return nil, err
	}
	return checked(ctx, &database{pool: pool, own: true, most: size, spare: size})
}

// New returns the database that pool is connected to, which must be a file with a
// write-ahead log. A few connections of the pool are kept in use until the DB is
// closed. The caller closes the pool after that.
func New(ctx context.Context, pool *sqlitex.Pool) (rowdb.DB, error) {
	KeepHeap()
	return checked(ctx, &database{pool: pool, most: runtime.GOMAXPROCS(0)})
}

func checked(ctx context.Context, db *database) (rowdb.DB, error) {
	if err := db.check(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// patience is how long Open waits for others that open the same file.
const patience = 10 * time.Second

func openPool(ctx context.Context, path string, size int) (*sqlitex.Pool, error) {
	KeepHeap()
	if err := MakePrivate(path); err != nil {
		return nil, err
	}
	if err := CheckLinks(path); err != nil {
		return nil, err
	}
	// A connection reads the tables of the database when it is first used. Most are never used.
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{
		PoolSize:    size,
		Flags:       sqlite.OpenReadWrite | sqlite.OpenCreate,
		PrepareConn: prepare,
	})
	if err != nil {
		return nil, explain(err, path)
	}
	if err := startLog(ctx, pool); err != nil {
		pool.Close()
		return nil, explain(err, path)
	}
	return pool, nil
}

// startLog uses a connection of pool. The first one to a new file gives it a write-ahead log. If
// several do so at the same time, SQLite's busy timeout would be a deadlock, so all but one fail at once.
func startLog(ctx context.Context, pool *sqlitex.Pool) error {
	for deadline := time.Now().Add(patience); ; {
		conn, err := pool.Take(ctx)
		if err == nil {
			pool.Put(conn)
			return nil
		}
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// prepare prepares a connection of a pool for its use.
func prepare(c *sqlite.Conn) error {
	c.SetBusyTimeout(patience)
	defer c.SetBlockOnBusy()
	for _, pragma := range []string{
		"PRAGMA journal_mode=wal",
		"PRAGMA synchronous=FULL",
		"PRAGMA foreign_keys=OFF",
		readingCache,
	} {
		if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

// check sets db's path, and refuses a database that is not a file, has no write-ahead log
// or cannot be written to.
func (db *database) check(ctx context.Context) error {
	mode, err := rowdb.One(ctx, db, rowdb.Text, "PRAGMA journal_mode")
	if err == nil {
		db.path, err = rowdb.One(ctx, db, rowdb.Text, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	}
	switch {
	case err != nil:
		return err
	case mode != "wal" || db.path == "":
		return fmt.Errorf("rowdb: the SQLite database must be a file with journal_mode=wal, but is %q with %s", db.path, mode)
	}
	return db.checkWritable(ctx)
}

// checkWritable refuses a read-only database. SQLite has opened it for reading only,
// and could not write to it even if the file became writable.
func (db *database) checkWritable(ctx context.Context) error {
	return db.take(ctx, func(c *connection) error {
		c.conn.SetBusyTimeout(0)
		defer c.conn.SetBlockOnBusy()
		undo := errors.New("undo")
		err := c.transaction("BEGIN IMMEDIATE", func(rowdb.Conn) error {
			// SQLite finds out with the first statement that writes.
			if err := c.run("PRAGMA user_version = 0"); err != nil {
				return err
			}
			return undo
		})
		if err == undo || sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy { // busy: another connection writes
			return nil
		}
		return err
	})
}

func (db *database) Dialect() rowdb.Dialect { return rowdb.SQLite }

func (db *database) Schema() string { return "" }

func (db *database) File() string { return db.path }

func (db *database) History(context.Context) (string, error) { return "", nil }

func (db *database) Close() error {
	db.mu.Lock()
	if db.own && len(db.hot) > 0 {
		checkpoint(db.hot[0])
	}
	for _, conn := range db.hot {
		db.pool.Put(conn)
	}
	db.hot, db.closed = nil, true
	db.mu.Unlock()
	if db.own {
		return db.pool.Close()
	}
	return nil
}

// checkpoint writes the log to the database file, unless others use it, so that the last connection
// removes the log. SQLite would do so itself, but the pool interrupts a connection before it closes
// it. An error loses nothing: the log stays, and the next start reads it.
func checkpoint(conn *sqlite.Conn) {
	_ = sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(PASSIVE)", nil)
}

// TryLock implements [rowdb.DB] with the write lock of an empty database beside the
// file. SQLite takes file locks on every system, and the system frees them when the
// process dies.
func (db *database) TryLock(ctx context.Context, n int32, f func(context.Context) error) (bool, error) {
	return tryLock(ctx, fmt.Sprintf("%s-lock%d", db.path, n), f)
}

// TryLockNamed implements [rowdb.DB].
func (db *database) TryLockNamed(ctx context.Context, name string, f func(context.Context) error) (bool, error) {
	return tryLock(ctx, fmt.Sprintf("%s-lock-%.16x", db.path, sha256.Sum256([]byte(name))), f)
}

func tryLock(ctx context.Context, path string, f func(context.Context) error) (bool, error) {
	if err := MakePrivate(path); err != nil {
		return false, fmt.Errorf("rowdb: lock %s: %w", path, err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return false, explain(fmt.Errorf("rowdb: lock %s: %w", path, err), path)
	}
	defer conn.Close()
	conn.SetBusyTimeout(0)
	err = sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil)
	switch {
	case err == nil:
		return true, f(ctx)
	case sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy:
		return false, nil
	}
	return false, explain(fmt.Errorf("rowdb: lock %s: %w", path, err), path)
}
