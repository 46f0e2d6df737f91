package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func (db *database) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error { return f(c) })
}

func (db *database) take(ctx context.Context, f func(*connection) error) error {
	conn := db.warm()
	if conn == nil {
		var err error
		if conn, err = db.pool.Take(ctx); err != nil {
			return rowdb.ContextError(ctx, explain(err, db.path))
		}
	}
	conn.SetInterrupt(ctx.Done())
	defer db.giveBack(conn)
	return rowdb.ContextError(ctx, explain(f(&connection{conn}), db.path))
}

// explain adds the error of the system if the folder of the database at path is the
// likely cause. The errors of SQLite do not name it.
func explain(err error, path string) error {
	if err == nil || path == "" {
		return damaged(err, path)
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly:
	default:
		return damaged(err, path)
	}
	probe, reason := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-probe")
	if reason != nil {
		return fmt.Errorf("%w: no file can be created in its folder: %w", err, reason)
	}
	probe.Close()
	os.Remove(probe.Name())
	return err
}

// warm returns the connection that was used last, or nil if none is free. Every
// connection has its own cache. The pool would hand them out in turn, and each would
// read the same pages again.
func (db *database) warm() *sqlite.Conn {
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

func (db *database) giveBack(conn *sqlite.Conn) {
	conn.SetInterrupt(nil)
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed && len(db.hot) < runtime.GOMAXPROCS(0) {
		db.hot = append(db.hot, conn)
	} else {
		db.pool.Put(conn)
	}
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
	if !c.conn.AutocommitEnabled() {
		if err := c.run("ROLLBACK"); err != nil {
			return err
		}
	}
	var tables []string
	err := c.Query(ctx, "SELECT name FROM sqlite_temp_master WHERE type = 'table'",
		func(r rowdb.Row) error { tables = append(tables, rowdb.String(r, 0)); return nil })
	for _, name := range tables {
		if err == nil {
			err = c.Script(ctx, fmt.Sprintf("DROP TABLE temp.%q", name))
		}
	}
	return err
}
