package pgdb

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// ErrTransactionPooler means that a pooler gives each transaction any session of the server.
var ErrTransactionPooler = errors.New("the connection leads to a pooler of transactions, which loses notifications and locks: connect to the server itself, or let the pooler pool sessions (in PgBouncer, pool_mode=session)")

// poolerTimeout is how long CheckSessions waits for connections of a pooler.
const poolerTimeout = 10 * time.Second

// CheckSessions returns ErrTransactionPooler if the connections of a pool do not keep their
// sessions. A session that listens there would never be woken, and one that holds a lock would share
// it with others, without an error.
func CheckSessions(ctx context.Context, pool *pgxpool.Pool) error {
	one, err := pool.Acquire(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	defer one.Release()
	before, err := backend(ctx, one)
	if err != nil || before == strconv.Itoa(int(one.Conn().PgConn().PID())) {
		return rowdb.ContextError(ctx, err) // no pooler is in between
	}
	ctx, cancel := context.WithTimeout(ctx, poolerTimeout)
	defer cancel()
	// A pooler of transactions gives a session that is free to whoever comes next: in turns to
	// the same connection, or the last one to another connection.
	again, err := backend(ctx, one)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	other, err := pool.Acquire(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	defer other.Release()
	if _, err := first(ctx, other.Conn().PgConn(), "BEGIN; SELECT 1"); err != nil {
		return rowdb.ContextError(ctx, err)
	}
	defer func() { _, _ = other.Conn().PgConn().Exec(ctx, "ROLLBACK").ReadAll() }()
	taken, err := backend(ctx, other)
	if err == nil && (again != before || taken == before) {
		err = ErrTransactionPooler
	}
	return rowdb.ContextError(ctx, err)
}

// backend returns the number of the process of the server that runs the statements of a connection.
func backend(ctx context.Context, conn *pgxpool.Conn) (string, error) {
	row, err := first(ctx, conn.Conn().PgConn(), "SELECT pg_catalog.pg_backend_pid()")
	if err != nil {
		return "", err
	}
	return row[0], nil
}
