package pgdb

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A history is what a server has when it is the primary. All servers that replicate one
// another have the same system identifier. A standby that becomes the primary begins a new
// timeline, whose number is greater.
type history struct{ system, timeline string }

func (h history) String() string {
	if h.system == "" || h.timeline == "" {
		return ""
	}
	return h.system + "/" + h.timeline
}

// before reports whether another server had the history of newer later.
func (h history) before(newer history) bool {
	return h.system == newer.system && h.timeline != "" && h.timeline < newer.timeline // numbers of eight digits
}

// newest has the newest history of each system that this process has met. A pool may have several
// addresses, so some of its connections may lead to a former primary that has come back, or that
// was cut off. The process must not use it again.
var newest = struct {
	sync.Mutex
	bySystem map[string]history
}{bySystem: map[string]history{}}

// met notes the history of a server, and returns rowdb.ErrLeft if there is a newer one.
func met(h history) error {
	newest.Lock()
	defer newest.Unlock()
	known := newest.bySystem[h.system]
	if h.before(known) {
		return rowdb.ErrLeft
	}
	if h.timeline != "" {
		newest.bySystem[h.system] = h
	}
	return nil
}

// checkMet returns rowdb.ErrLeft if another server has taken over from that of conn.
func checkMet(conn *pgx.Conn) error {
	h, _ := conn.PgConn().CustomData()[customHistory].(history)
	return met(h)
}

// customHistory is the key of the history of a connection among its custom data.
const customHistory = "resourcesync history"

// Follow makes the connections of a pool with several addresses lead to the newest primary, if
// several servers say that they are one.
func Follow(config *pgxpool.Config) {
	before := config.BeforeConnect
	config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return err
			}
		}
		validate := c.ValidateConnect
		c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
			if validate != nil {
				if err := validate(ctx, conn); err != nil {
					return err
				}
			}
			h, err := identify(ctx, conn)
			if err != nil {
				return err
			}
			return met(h)
		}
		return nil
	}
}

// connect takes a connection to the newest primary from the pool. It closes those to servers that
// have been left behind.
func (db *database) connect(ctx context.Context) (*pgxpool.Conn, error) {
	for range db.pool.Config().MaxConns {
		conn, err := db.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		h, err := identify(ctx, conn.Conn().PgConn())
		if err == nil {
			if err = met(h); err == nil {
				return conn, nil
			}
			_ = conn.Conn().Close(ctx)
		}
		conn.Release()
		if err != rowdb.ErrLeft {
			return nil, err
		}
	}
	return nil, rowdb.ErrLeft
}

// PostgreSQL checks the rights of selectHistory even where a condition keeps a function from running.
const selectHistory = `SELECT pg_catalog.pg_is_in_recovery(), (SELECT system_identifier::text FROM pg_catalog.pg_control_system()),
	CASE WHEN pg_catalog.pg_is_in_recovery() THEN '' ELSE substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END`

const selectRights = `SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
	AND has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE') AND has_function_privilege('pg_catalog.pg_current_wal_insert_lsn()', 'EXECUTE')`

// identify returns the history of the server of a connection, if the role may see it. It asks
// once, because a primary does not change it. A standby has none.
func identify(ctx context.Context, conn *pgconn.PgConn) (h history, err error) {
	if h, known := conn.CustomData()[customHistory].(history); known {
		return h, nil
	}
	rights, err := first(ctx, conn, selectRights)
	if err != nil {
		return h, err
	}
	standby := false
	if rights[0] == "t" {
		row, err := first(ctx, conn, selectHistory)
		if err != nil {
			return h, err
		}
		standby, h = row[0] == "t", history{row[1], row[2]}
	}
	if !standby {
		conn.CustomData()[customHistory] = h
	}
	return h, nil
}

// first returns the columns of the only row of the last statement of a script. It prepares nothing.
func first(ctx context.Context, conn *pgconn.PgConn, sql string) (row []string, err error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, column := range results[len(results)-1].Rows[0] {
		row = append(row, string(column))
	}
	return row, nil
}

// History implements [rowdb.DB].
func (db *database) History(ctx context.Context) (name string, err error) {
	err = db.acquire(ctx, func(c *connection) error {
		h, err := identify(ctx, c.conn.PgConn())
		name = h.String()
		return err
	})
	return name, err
}
