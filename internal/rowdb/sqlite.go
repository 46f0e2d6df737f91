package rowdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// OpenPool opens the SQLite database file at path with the settings that a
// store needs, and makes it, for its owner alone, if there is none: a write-ahead
// log, so that readers and the writer do not wait for each other; synchronous=FULL,
// so that what is committed outlasts a power cut; foreign keys not enforced. A file
// with several names is refused, see [CheckLinks].
func OpenPool(path string, size int) (*sqlitex.Pool, error) {
	if err := MakePrivate(path); err != nil {
		return nil, err
	}
	if err := CheckLinks(path); err != nil {
		return nil, err
	}
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{
		PoolSize: size,
		Flags:    sqlite.OpenReadWrite | sqlite.OpenCreate | sqlite.OpenWAL,
		PrepareConn: func(c *sqlite.Conn) error {
			for _, pragma := range []string{
				"PRAGMA synchronous=FULL",
				"PRAGMA foreign_keys=OFF",
				// In KiB, for each connection. The system has the file in its
				// cache anyway, and reading is no quicker with more.
				"PRAGMA cache_size=-1024",
			} {
				if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return pool, explain(err, path)
}

// NewSQLite returns the database that pool is connected to. It must be a file
// with a write-ahead log. A few connections of the pool are kept in use, until
// [DB.Close].
func NewSQLite(ctx context.Context, pool *sqlitex.Pool) (DB, error) {
	db := &sqliteDB{pool: pool}
	mode := ""
	err := db.Do(ctx, func(c Conn) error {
		err := c.Query(ctx, "PRAGMA journal_mode", func(r Row) error { mode = String(r, 0); return nil })
		if err != nil {
			return err
		}
		return c.Query(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'",
			func(r Row) error { db.path = String(r, 0); return nil })
	})
	if err == nil && (mode != "wal" || db.path == "") {
		err = fmt.Errorf("rowdb: the SQLite database must be a file with journal_mode=wal, not %q with %s", db.path, mode)
	}
	if err == nil {
		err = db.checkWritable(ctx)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// checkWritable refuses a database that cannot be written to. SQLite has opened it
// for reading alone, and would not write to it even when that can be done again.
func (db *sqliteDB) checkWritable(ctx context.Context) error {
	return db.take(ctx, func(c *sqliteConn) error {
		c.conn.SetBusyTimeout(0)
		defer c.conn.SetBlockOnBusy()
		undo := errors.New("undo")
		err := c.transaction("BEGIN IMMEDIATE", func(Conn) error {
			// The first statement that would write finds it out.
			if err := c.run("PRAGMA user_version = 0"); err != nil {
				return err
			}
			return undo
		})
		if err == undo || sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy { // busy: somebody writes
			return nil
		}
		return err
	})
}

type sqliteDB struct {
	pool *sqlitex.Pool
	path string

	mu     sync.Mutex
	hot    []*sqlite.Conn
	closed bool
}

func (db *sqliteDB) Dialect() Dialect { return SQLite }

// Close gives the pool its connections back.
func (db *sqliteDB) Close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, conn := range db.hot {
		db.pool.Put(conn)
	}
	db.hot, db.closed = nil, true
}

func (db *sqliteDB) Do(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) error { return f(c) })
}

func (db *sqliteDB) take(ctx context.Context, f func(*sqliteConn) error) error {
	conn := db.warm()
	if conn == nil {
		var err error
		if conn, err = db.pool.Take(ctx); err != nil {
			return contextError(ctx, explain(err, db.path))
		}
	}
	conn.SetInterrupt(ctx.Done())
	defer db.giveBack(conn)
	return contextError(ctx, explain(f(&sqliteConn{conn}), db.path))
}

// explain adds what the system says about the folder of the database at path, if
// that may be why SQLite has failed, which says only that something went wrong.
func explain(err error, path string) error {
	if err == nil || path == "" {
		return damagedSQLite(err, path)
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly:
	default:
		return damagedSQLite(err, path)
	}
	probe, reason := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-probe")
	if reason != nil {
		return fmt.Errorf("%w: nothing can be written beside it: %w", err, reason)
	}
	probe.Close()
	os.Remove(probe.Name())
	return err
}

// warm returns the connection that was used last, if there is one that waits.
// Every connection has a cache of its own; the pool hands them out in turn, so
// that with each of them the same pages would have to be read again.
func (db *sqliteDB) warm() *sqlite.Conn {
	db.mu.Lock()
	defer db.mu.Unlock()
	n := len(db.hot)
	if n == 0 {
		return nil
	}
	conn := db.hot[n-1]
	db.hot = db.hot[:n-1]
	return conn
}

func (db *sqliteDB) giveBack(conn *sqlite.Conn) {
	conn.SetInterrupt(nil)
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed && len(db.hot) < runtime.GOMAXPROCS(0) {
		db.hot = append(db.hot, conn)
	} else {
		db.pool.Put(conn)
	}
}

func (db *sqliteDB) Snapshot(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) error { return c.transaction("BEGIN", f) })
}

func (db *sqliteDB) Update(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) error {
		if err := c.beginImmediate(ctx); err != nil {
			return err
		}
		return c.finish(f)
	})
}

func (db *sqliteDB) Write(ctx context.Context, f func(Conn) error) error { return db.Update(ctx, f) }

func (db *sqliteDB) Session(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) (err error) {
		defer func() {
			if e := c.tidy(); e != nil {
				err = errors.Join(err, e)
			}
		}()
		return f(c)
	})
}

// tidy leaves a connection as the next who takes it from the pool expects it,
// even if the context is done.
func (c *sqliteConn) tidy() error {
	ctx := context.Background()
	c.conn.SetInterrupt(nil)
	if !c.conn.AutocommitEnabled() {
		if err := c.run("ROLLBACK"); err != nil {
			return err
		}
	}
	var tables []string
	err := c.Query(ctx, "SELECT name FROM sqlite_temp_master WHERE type = 'table'",
		func(r Row) error { tables = append(tables, String(r, 0)); return nil })
	for _, name := range tables {
		if err == nil {
			err = c.Script(ctx, fmt.Sprintf("DROP TABLE temp.%q", name))
		}
	}
	return err
}

// pollEvery is how often a listener looks whether something has been committed,
// which takes some microseconds. SQLite tells nobody, and the commits of a host's
// own connections are not seen otherwise.
const pollEvery = 20 * time.Millisecond

func (db *sqliteDB) Listen(ctx context.Context, wake func()) error {
	return db.take(ctx, func(c *sqliteConn) error {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		last := int64(-1)
		for {
			version := last
			// It moves when another connection commits. This one never does.
			err := c.Query(ctx, "PRAGMA data_version", func(r Row) error { version = r.Int(0); return nil })
			if err != nil {
				return err
			}
			if version != last {
				last = version
				wake()
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
}

// transaction runs f between begin and the end of a transaction.
func (c *sqliteConn) transaction(begin string, f func(Conn) error) error {
	if err := c.run(begin); err != nil {
		return err
	}
	return c.finish(f)
}

// finish runs f in the transaction that has begun and ends it.
func (c *sqliteConn) finish(f func(Conn) error) (err error) {
	defer func() {
		// Some errors end a transaction. If it is not over yet, it must be
		// now, even if the context is done.
		if !c.conn.AutocommitEnabled() {
			c.conn.SetInterrupt(nil)
			if e := c.run("ROLLBACK"); e != nil {
				err = errors.Join(err, e)
			}
		}
	}()
	if err := f(c); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// beginImmediate waits for the write lock with short and even rests, where
// SQLite's own ones grow to a tenth of a second: beside writers that leave the
// lock only for moments, a store would hardly ever get it.
func (c *sqliteConn) beginImmediate(ctx context.Context) error {
	c.conn.SetBusyTimeout(0)
	defer c.conn.SetBlockOnBusy()
	for {
		err := c.run("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}
