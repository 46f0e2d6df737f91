package pgdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// StandbyTimeout is how long a read waits for a connection to a standby and for its history. After
// that the primary serves it. Tests raise it, because a busy computer can need longer.
var StandbyTimeout = time.Second

// errOtherHistory means that a standby may have transactions that the primary never had, or none of
// its own since another server has taken over.
var errOtherHistory = errors.New("it does not follow the primary")

// NewStandby returns the standby that pool is connected to. The caller closes the pool.
func NewStandby(pool *pgxpool.Pool) rowdb.Standby { return standby{pool} }

type standby struct{ pool *pgxpool.Pool }

// Snapshot implements [rowdb.Standby].
func (s standby) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	defer conn.Release()
	return rowdb.ContextError(ctx, damaged(transact(ctx, &connection{conn: conn.Conn()}, beginSnapshot, f)))
}

// connect returns a connection to a server that follows the newest primary that this process has met,
// or is that primary.
func (s standby) connect(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, StandbyTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	// Each time, because a standby can begin to follow another primary, or become one.
	row, err := first(ctx, conn.Conn().PgConn(), selectFollowed)
	if err == nil {
		if now := newestOf(row[0]); now != (history{row[0], row[1]}) {
			err = fmt.Errorf("%w: it has the history %s/%s, and the primary %s", errOtherHistory, row[0], row[1], now)
		}
	}
	if err != nil {
		conn.Release()
		return nil, err
	}
	return conn, nil
}

// selectFollowed reads the history that a standby follows. A standby receives a timeline only if it
// has replayed nothing that this timeline lacks. The one of its last checkpoint is for roles that may
// not see the receiver, and for a standby that has none now; it can be too old for some minutes.
const selectFollowed = `SELECT system_identifier::text,
	CASE WHEN pg_catalog.pg_is_in_recovery()
		THEN upper(lpad(to_hex(greatest((SELECT received_tli FROM pg_catalog.pg_stat_wal_receiver), (SELECT timeline_id FROM pg_catalog.pg_control_checkpoint()))), 8, '0'))
		ELSE substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END
	FROM pg_catalog.pg_control_system()`

// newestOf returns the newest history of a system that this process has met.
func newestOf(system string) history {
	newest.Lock()
	defer newest.Unlock()
	return newest.bySystem[system]
}
