package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func (db *database) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error { return f(c) })
}

func (db *database) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.take(ctx, func(c *connection) error { return c.Query(ctx, sql, each, args...) })
}

func (db *database) take(ctx context.Context, f func(*connection) error) error {
	conn, err := db.next(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, explain(err, db.path))
	}
	conn.SetInterrupt(ctx.Done())
	defer db.giveBack(conn)
	return rowdb.ContextError(ctx, explain(f(&connection{conn}), db.path))
}

// explain adds the cause of an error of the database at path where it is known:
// rowdb.ErrDamaged, a full disk, or the error of the system if the folder is the likely cause.
// The errors of SQLite do not name it.
func explain(err error, path string) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("file %s: %w: %w", path, rowdb.ErrDamaged, err)
	case sqlite.ResultFull:
		if errors.Is(err, syscall.ENOSPC) {
			return err // it is explained
		}
		return fmt.Errorf("the disk of the state %s is full: make room: %w: %w", path, err, syscall.ENOSPC)
	case sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly:
		if path == "" {
			return err
		}
		probe, reason := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-probe")
		if reason != nil {
			return fmt.Errorf("%w: no file can be created in its folder: %w", err, reason)
		}
		probe.Close()
		os.Remove(probe.Name())
	}
	return err
}

// next returns the connection that was used last of those that are free. Every connection
// has its own cache, of several megabytes. The pool would hand them out in turn, so that
// all of them read the same pages and keep them.
func (db *database) next(ctx context.Context) (*sqlite.Conn, error) {
	db.mu.Lock()
	if n := len(db.hot); n > 0 {
		conn := db.hot[n-1]
		db.hot = db.hot[:n-1]
		db.mu.Unlock()
		return conn, nil
	}
	db.spare--
	db.mu.Unlock()
	conn, err := db.pool.Take(ctx)
	if err != nil || !db.own {
		db.mu.Lock()
		db.spare++
		db.mu.Unlock()
	}
	return conn, err
}

// giveBack keeps a connection for the next use, unless a caller waits for a connection of the pool.
func (db *database) giveBack(conn *sqlite.Conn) {
	conn.SetInterrupt(nil)
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed && db.spare >= 0 && len(db.hot) < db.most {
		db.hot = append(db.hot, conn)
		return
	}
	if db.own {
		db.spare++
	}
	db.pool.Put(conn)
}

func (db *database) Session(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) (err error) {
		defer func() {
			if e := c.tidy(); e != nil {
				err = errors.Join(err, e)
			}
		}()
		return f(c)
	})
}

// tidy rolls back and drops temporary tables before a connection returns to the pool,
// even if the context is done.
func (c *connection) tidy() error {
	ctx := context.Background()
	c.conn.SetInterrupt(nil)
	if err := c.rollback(); err != nil {
		return err
	}
	tables, err := rowdb.All(ctx, c, rowdb.Text, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")
	for _, name := range tables {
		if err == nil {
			err = c.Script(ctx, fmt.Sprintf("DROP TABLE temp.%q", name))
		}
	}
	return err
}

func (db *database) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error { return c.transaction("BEGIN", f) })
}

func (db *database) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error {
		if db.own {
			if err := c.Script(ctx, writingCache); err != nil {
				return err
			}
			defer func() { _ = c.Script(ctx, readingCache) }()
		}
		if err := c.beginImmediate(ctx); err != nil {
			return err
		}
		return c.finish(f)
	})
}

func (db *database) Write(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.Update(ctx, f)
}

func (db *database) TryWrite(ctx context.Context, f func(rowdb.Conn) error) (free bool, err error) {
	err = db.take(ctx, func(c *connection) error {
		c.conn.SetBusyTimeout(0)
		defer c.conn.SetBlockOnBusy()
		err := c.run("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
			return nil
		}
		free = true
		if err != nil {
			return err
		}
		return c.finish(f)
	})
	return free, err
}

// transaction runs f between the statement begin and COMMIT.
func (c *connection) transaction(begin string, f func(rowdb.Conn) error) error {
	if err := c.run(begin); err != nil {
		return err
	}
	return c.finish(f)
}

// finish runs f in the current transaction and ends it.
func (c *connection) finish(f func(rowdb.Conn) error) (err error) {
	defer func() {
		if e := c.rollback(); e != nil {
			err = errors.Join(err, e)
		}
	}()
	if err := f(c); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// rollback ends a transaction that no error has ended, even if the context is done.
func (c *connection) rollback() error {
	if c.conn.AutocommitEnabled() {
		return nil
	}
	c.conn.SetInterrupt(nil)
	return c.run("ROLLBACK")
}

const (
	// lockPause is the time between two attempts to get the write lock.
	lockPause = time.Millisecond

	// A writer that commits without a pause frees the lock for microseconds. So before each pause,
	// attempts follow one another for lockSpin. After lockPatience the pauses are longer, and the attempts
	// take a fifth of a core until the lock is free.
	lockPatience  = 30 * time.Millisecond
	lockSpin      = 2 * time.Millisecond
	lockSpinPause = 8 * time.Millisecond
)

// beginImmediate waits for the write lock with short, even pauses. SQLite's own pauses grow
// to a tenth of a second: beside writers that free the lock only for moments, a store would
// hardly ever get it.
func (c *connection) beginImmediate(ctx context.Context) error {
	c.conn.SetBusyTimeout(0)
	defer c.conn.SetBlockOnBusy()
	began := time.Now()
	spinning := began
	for {
		err := c.run("BEGIN IMMEDIATE")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		if time.Since(spinning) < lockSpin {
			runtime.Gosched()
			continue
		}
		pause := lockPause
		if time.Since(began) > lockPatience {
			pause = lockSpinPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		spinning = time.Now()
	}
}
