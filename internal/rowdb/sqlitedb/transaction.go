package sqlitedb

import (
	"context"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func (db *database) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error { return c.transaction("BEGIN", f) })
}

func (db *database) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(c *connection) error {
		if err := c.beginImmediate(ctx); err != nil {
			return err
		}
		return c.finish(f)
	})
}

func (db *database) Write(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.Update(ctx, f)
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
		// Some errors end a transaction. End it here if they have not, even if the
		// context is done.
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

// beginImmediate waits for the write lock with short, even pauses. Those of SQLite grow
// to a tenth of a second: beside writers that free the lock only for moments, a store
// would hardly ever get it.
func (c *connection) beginImmediate(ctx context.Context) error {
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
