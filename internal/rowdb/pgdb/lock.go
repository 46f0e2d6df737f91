package pgdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TryLock takes an advisory lock of a session. The session goes on saying that
// it is alive; if it stops, PostgreSQL ends it and the lock is free.
func (db *database) TryLock(ctx context.Context, n int32, f func(context.Context) error) (bool, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return false, rowdb.ContextError(ctx, err)
	}
	var got bool
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", db.class, n).Scan(&got)
	if err != nil || !got {
		conn.Release()
		return false, rowdb.ContextError(ctx, err)
	}
	return true, dedicated(ctx, conn, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, fmt.Sprintf("SET idle_session_timeout = %d", sessionTimeout.Milliseconds())); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		alive := make(chan struct{})
		go func() {
			defer close(alive)
			if err := stayAlive(ctx, c); err != nil {
				cancel(fmt.Errorf("rowdb: lock %d is lost: %w", n, err))
			}
		}()
		err := f(ctx)
		lost := context.Cause(ctx)
		cancel(nil)
		<-alive
		// The lock shall be free now, and not only when the server has noticed
		// that the connection is closed, which frees it in any case.
		unlock, done := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
		defer done()
		_, _ = c.Exec(unlock, "SELECT pg_advisory_unlock($1, $2)", db.class, n)
		if err != nil && lost != nil {
			return lost
		}
		return err
	})
}

// stayAlive uses conn often enough until ctx is done.
func stayAlive(ctx context.Context, conn *pgx.Conn) error {
	tick := time.NewTicker(sessionTimeout / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		ping, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
		err := conn.Ping(ping)
		cancel()
		if err != nil {
			return err
		}
	}
}
