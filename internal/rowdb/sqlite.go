package rowdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// OpenPool opens the SQLite database file at path with the settings that a
// store needs, and makes it if there is none: a write-ahead log, so that readers
// and the writer do not wait for each other; synchronous=FULL, so that what is
// committed outlasts a power cut; foreign keys not enforced.
func OpenPool(path string, size int) (*sqlitex.Pool, error) {
	return sqlitex.NewPool(path, sqlitex.PoolOptions{
		PoolSize: size,
		Flags:    sqlite.OpenReadWrite | sqlite.OpenCreate | sqlite.OpenWAL,
		PrepareConn: func(c *sqlite.Conn) error {
			for _, pragma := range []string{
				"PRAGMA synchronous=FULL",
				"PRAGMA foreign_keys=OFF",
				"PRAGMA cache_size=-16384", // KiB
			} {
				if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// NewSQLite returns the database that pool is connected to. It must be a file
// with a write-ahead log. A few connections of the pool are in use for as long
// as something runs that needs one: a [DB.Session], a [DB.Listen].
func NewSQLite(ctx context.Context, pool *sqlitex.Pool) (DB, error) {
	db := &sqliteDB{pool: pool}
	return db, db.Do(ctx, func(c Conn) error {
		mode := ""
		err := c.Query(ctx, "PRAGMA journal_mode", func(r Row) error { mode = String(r, 0); return nil })
		if err == nil {
			err = c.Query(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'",
				func(r Row) error { db.path = String(r, 0); return nil })
		}
		switch {
		case err != nil:
			return err
		case mode != "wal" || db.path == "":
			return fmt.Errorf("rowdb: the SQLite database must be a file with journal_mode=wal, not %q with %s", db.path, mode)
		}
		return nil
	})
}

type sqliteDB struct {
	pool *sqlitex.Pool
	path string
}

func (db *sqliteDB) Dialect() Dialect { return SQLite }

func (db *sqliteDB) Do(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) error { return f(c) })
}

func (db *sqliteDB) take(ctx context.Context, f func(*sqliteConn) error) error {
	conn, err := db.pool.Take(ctx)
	if err != nil {
		return contextError(ctx, err)
	}
	defer db.pool.Put(conn)
	return contextError(ctx, f(&sqliteConn{conn}))
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

func (db *sqliteDB) Session(ctx context.Context, f func(Conn) error) error {
	return db.take(ctx, func(c *sqliteConn) (err error) {
		defer func() { err = errors.Join(err, c.tidy()) }()
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
	done := false
	defer func() {
		if err == nil && done {
			if err = c.run("COMMIT"); err == nil {
				return
			}
		}
		// The transaction may be over already: some errors end it. And it
		// must end even if the context is done.
		c.conn.SetInterrupt(nil)
		if !c.conn.AutocommitEnabled() {
			err = errors.Join(err, c.run("ROLLBACK"))
		}
	}()
	err = f(c)
	done = true
	return err
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
