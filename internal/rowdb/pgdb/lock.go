package pgdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TryLock implements [rowdb.DB] with an advisory lock of a session. The session sends a
// heartbeat; when that stops, PostgreSQL ends the session and frees the lock.
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
		// Free the lock now. Closing the connection also frees it, but only when the
		// server notices.
		unlock, done := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
		defer done()
		_, _ = c.Exec(unlock, "SELECT pg_advisory_unlock($1, $2)", db.class, n)
		if err != nil && lost != nil {
			return lost
		}
		return err
	})
}

// stayAlive sends a heartbeat on conn until ctx is done.
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
