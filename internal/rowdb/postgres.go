package rowdb

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// patience is how long PostgreSQL waits for a session that holds a lock to say
// something before it ends it, so that a process that has been stopped, or cut
// off from the network, does not keep the lock.
const patience = 2 * time.Second

// NewPostgres returns the database that pool is connected to, PostgreSQL 14 or
// later. Everything happens in the schema that comes first in the search path
// of its connections.
func NewPostgres(ctx context.Context, pool *pgxpool.Pool) (DB, error) {
	db := &postgresDB{pool: pool}
	err := pool.QueryRow(ctx, "SELECT coalesce(current_schema(), '')").Scan(&db.schema)
	switch {
	case err != nil:
		return nil, contextError(ctx, err)
	case db.schema == "":
		return nil, errors.New("rowdb: no schema in the search path of the connections exists")
	}
	h := fnv.New32a()
	h.Write([]byte("rowdb " + db.schema))
	db.class = int32(h.Sum32())
	return db, nil
}

type postgresDB struct {
	pool   *pgxpool.Pool
	schema string
	class  int32 // first half of the numbers of our advisory locks
}

// Schema returns the schema of db's tables, quoted, and "" in SQLite.
func Schema(db DB) string {
	if p, ok := db.(*postgresDB); ok {
		return pgx.Identifier{p.schema}.Sanitize()
	}
	return ""
}

func (db *postgresDB) Dialect() Dialect { return Postgres }

// Close has nothing to give back: every connection is as good as another.
func (db *postgresDB) Close() {}

func (db *postgresDB) Do(ctx context.Context, f func(Conn) error) error {
	return db.acquire(ctx, func(c *postgresConn) error { return f(c) })
}

func (db *postgresDB) acquire(ctx context.Context, f func(*postgresConn) error) error {
	return contextError(ctx, damagedPostgres(db.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return f(&postgresConn{conn: c.Conn()})
	})))
}

// byIndex are the planner's settings for statements that each have an index to
// follow. A table that has grown since its statistics were taken, or has none,
// would otherwise be read and sorted as a whole for a few of its rows.
var byIndex = []string{
	"enable_seqscan = off", "enable_bitmapscan = off", "enable_sort = off", "enable_hashjoin = off", "enable_mergejoin = off",
	// Costs that these settings raise must not set anything larger in motion.
	"jit = off", "max_parallel_workers_per_gather = 0",
}

// set returns the script that makes settings, each by the command.
func set(command string, settings []string) string {
	return command + " " + strings.Join(settings, "; "+command+" ")
}

func (db *postgresDB) Snapshot(ctx context.Context, f func(Conn) error) error {
	return db.transaction(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", f)
}

func (db *postgresDB) Update(ctx context.Context, f func(Conn) error) error {
	// Read committed, so that the statements after the lock see what the
	// one who had it before has done.
	return db.transaction(ctx, fmt.Sprintf(beginWrite+"; SELECT pg_advisory_xact_lock(%d, -1)", patience.Milliseconds(), db.class), f)
}

const beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL idle_in_transaction_session_timeout = %d"

func (db *postgresDB) Write(ctx context.Context, f func(Conn) error) error {
	return db.transaction(ctx, fmt.Sprintf(beginWrite, patience.Milliseconds()), f)
}

func (db *postgresDB) transaction(ctx context.Context, begin string, f func(Conn) error) error {
	return db.acquire(ctx, func(c *postgresConn) error {
		defer func() {
			if c.conn.PgConn().TxStatus() != idle {
				// The context may be done, and the transaction is not to
				// outlast it. If this fails, the pool ends the session.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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
	})
}

// idle is the status of a session that is in no transaction.
const idle = 'I'

func (db *postgresDB) Session(ctx context.Context, f func(Conn) error) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return contextError(ctx, err)
	}
	return dedicated(ctx, conn, func(c *pgx.Conn) error {
		session := &postgresConn{conn: c}
		if err := session.Script(ctx, set("SET", byIndex)); err != nil {
			return err
		}
		return f(session)
	})
}

// dedicated runs f with a connection that does not go back to the pool: its
// temporary tables, locks and settings end with it.
func dedicated(ctx context.Context, acquired *pgxpool.Conn, f func(*pgx.Conn) error) error {
	conn := acquired.Hijack()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		conn.Close(ctx)
	}()
	return contextError(ctx, damagedPostgres(f(conn)))
}
