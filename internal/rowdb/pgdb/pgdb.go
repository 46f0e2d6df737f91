// Package pgdb implements rowdb for PostgreSQL 14 and later, with pgx.
package pgdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// sessionTimeout is how long PostgreSQL keeps an idle session that holds a lock. A
// process that has been stopped, or cut off from the network, loses its locks
// then.
const sessionTimeout = 2 * time.Second

// New returns the database that pool is connected to. Its tables are in the schema that
// comes first in the search path of the pool's connections. The caller closes the pool.
func New(ctx context.Context, pool *pgxpool.Pool) (rowdb.DB, error) {
	db := &database{pool: pool}
	err := pool.QueryRow(ctx, "SELECT coalesce(current_schema(), '')").Scan(&db.schema)
	switch {
	case err != nil:
		return nil, rowdb.ContextError(ctx, err)
	case db.schema == "":
		return nil, errors.New("rowdb: none of the schemas in the search path of the connections exists")
	}
	h := fnv.New32a()
	h.Write([]byte("rowdb " + db.schema))
	db.class = int32(h.Sum32())
	return db, nil
}

type database struct {
	pool   *pgxpool.Pool
	schema string
	class  int32 // first half of the numbers of our advisory locks
}

func (db *database) Dialect() rowdb.Dialect { return rowdb.Postgres }

func (db *database) Schema() string { return pgx.Identifier{db.schema}.Sanitize() }

func (db *database) File() string { return "" }

// Close has nothing to return: no connection is kept between calls.
func (db *database) Close() error { return nil }

func (db *database) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.acquire(ctx, func(c *connection) error { return f(c) })
}

func (db *database) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.acquire(ctx, func(c *connection) error { return c.Query(ctx, sql, each, args...) })
}

func (db *database) acquire(ctx context.Context, f func(*connection) error) error {
	conn, err := db.connect(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	defer conn.Release()
	return rowdb.ContextError(ctx, damaged(f(&connection{conn: conn.Conn()})))
}

// byIndex are planner settings for statements that each have an index to follow.
// Without them, a table that has grown since its statistics were taken, or has none,
// would be read and sorted as a whole for a few of its rows.
var byIndex = []string{
	"enable_seqscan = off", "enable_bitmapscan = off", "enable_sort = off", "enable_hashjoin = off", "enable_mergejoin = off",
	// These settings raise estimated costs, which must not trigger expensive features.
	"jit = off", "max_parallel_workers_per_gather = 0",
}

// set returns the script that applies settings with command.
func set(command string, settings []string) string {
	return command + " " + strings.Join(settings, "; "+command+" ")
}

func (db *database) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.transaction(ctx, beginSnapshot, f)
}

const beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

func (db *database) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	// Read committed, so that the statements after the lock see the commit of its
	// previous holder.
	return db.transaction(ctx, fmt.Sprintf(beginWrite+"; SELECT pg_advisory_xact_lock(%d, -1)", sessionTimeout.Milliseconds(), db.class), f)
}

const beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL idle_in_transaction_session_timeout = %d"

func (db *database) Write(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.transaction(ctx, fmt.Sprintf(beginWrite, sessionTimeout.Milliseconds()), f)
}

func (db *database) TryWrite(ctx context.Context, f func(rowdb.Conn) error) (bool, error) {
	return true, db.Write(ctx, f)
}

func (db *database) transaction(ctx context.Context, begin string, f func(rowdb.Conn) error) error {
	return db.acquire(ctx, func(c *connection) error { return transact(ctx, c, begin, f) })
}

func transact(ctx context.Context, c *connection, begin string, f func(rowdb.Conn) error) error {
	defer func() {
		if c.conn.PgConn().TxStatus() != idle {
			// The context may be done, and the transaction must not outlast it. If
			// ROLLBACK fails, the pool closes the session.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
			defer cancel()
			c.Script(ctx, "ROLLBACK")
		}
	}()
	if err := c.Script(ctx, begin+"; "+set("SET LOCAL", byIndex)); err != nil {
		return err
	}
	if err := f(c); err != nil {
		return err
	}
	return c.Script(ctx, "COMMIT")
}

// idle is the status of a session without a transaction.
const idle = 'I'

func (db *database) Session(ctx context.Context, f func(rowdb.Conn) error) error {
	conn, err := db.connect(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	return dedicated(ctx, conn, func(c *pgx.Conn) error {
		session := &connection{conn: c}
		if err := session.Script(ctx, set("SET", byIndex)); err != nil {
			return err
		}
		return f(session)
	})
}

// dedicated runs f with a connection that is closed instead of returned to the pool:
// its temporary tables, locks and settings end with it.
func dedicated(ctx context.Context, acquired *pgxpool.Conn, f func(*pgx.Conn) error) error {
	conn := acquired.Hijack()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
		defer cancel()
		conn.Close(ctx)
	}()
	return rowdb.ContextError(ctx, damaged(f(conn)))
}

// damaged adds rowdb.ErrDamaged to an error with which PostgreSQL reports a
// damaged table or index.
func damaged(err error) error {
	const dataCorrupted, indexCorrupted = "XX001", "XX002"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == dataCorrupted || e.Code == indexCorrupted) {
		return fmt.Errorf("%w: %w", rowdb.ErrDamaged, err)
	}
	return err
}

// TryLock implements [rowdb.DB].
func (db *database) TryLock(ctx context.Context, n int32, f func(context.Context) error) (bool, error) {
	return db.tryLock(ctx, fmt.Sprintf("%d, %d", db.class, n), f)
}

// TryLockNamed implements [rowdb.DB].
func (db *database) TryLockNamed(ctx context.Context, name string, f func(context.Context) error) (bool, error) {
	return db.tryLock(ctx, fmt.Sprintf("hashtextextended(%s || '%x', 0)", channel, sha256.Sum256([]byte(name))), f)
}

// Poll implements [rowdb.Poller].
func (db *database) Poll(ctx context.Context, f func(context.Context) error) (bool, error) {
	return db.tryLock(ctx, "hashtextextended("+channel+", 0)", f)
}

// tryLock runs f with an advisory lock of a session, if it is free. The session sends a heartbeat;
// when that stops, PostgreSQL ends the session and frees the lock.
func (db *database) tryLock(ctx context.Context, key string, f func(context.Context) error) (bool, error) {
	conn, err := db.connect(ctx)
	if err != nil {
		return false, rowdb.ContextError(ctx, err)
	}
	var got bool
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock("+key+")").Scan(&got)
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
				cancel(fmt.Errorf("rowdb: lock (%s) is lost: %w", key, err))
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
		_, _ = c.Exec(unlock, "SELECT pg_advisory_unlock("+key+")")
		if err != nil && lost != nil {
			return lost
		}
		return err
	})
}

// stayAlive sends a heartbeat on conn until ctx is done. It fails if another server has taken
// over: its lock is free.
func stayAlive(ctx context.Context, conn *pgx.Conn) error {
	tick := time.NewTicker(sessionTimeout / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := ping(context.WithoutCancel(ctx), conn); err != nil {
			return err
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return err
	}
	return checkMet(conn)
}

// listenPing is the time between two heartbeats of a session that listens. Without them, it would
// wait for a server that has vanished without closing the connection.
const listenPing = 2 * time.Second

// channel is the expression for the name of the channel. It is a digest, because the name
// of a schema may be longer than a channel's may be. Triggers that notify use the same
// expression.
const channel = "'rs_' || md5(current_schema())"

func (db *database) Listen(ctx context.Context, wake func()) error {
	acquired, err := db.connect(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	return dedicated(ctx, acquired, func(conn *pgx.Conn) error {
		var name string
		if err := conn.QueryRow(ctx, "SELECT "+channel).Scan(&name); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
			return err
		}
		for {
			// Wake once at the beginning, for earlier commits.
			wake()
			if err := await(ctx, conn); err != nil {
				return err
			}
		}
	})
}

// await waits for a notification.
func await(ctx context.Context, conn *pgx.Conn) error {
	for {
		wait, cancel := context.WithTimeout(ctx, listenPing)
		_, err := conn.WaitForNotification(wait)
		late := wait.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil || !late {
			return err
		}
		if err := ping(ctx, conn); err != nil {
			return err
		}
	}
}

func (c *connection) Notify(ctx context.Context) error {
	return c.Query(ctx, "SELECT pg_notify("+channel+", '')", func(rowdb.Row) error { return nil })
}
