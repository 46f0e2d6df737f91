// Package pgstore opens the stores of package sqlstore in PostgreSQL 14 and later,
// for any number of processes.
//
// Outside the pool, each running process uses one connection. The process that sequences
// changes uses one more, the process that publishes them another one, and each scan uses
// two. A connection pooler must pool sessions, not transactions; Open refuses the latter.
//
// A host that uses database/sql opens a pgxpool.Pool and gets a *sql.DB of the same
// connections from stdlib.OpenDBFromPool of pgx.
package pgstore

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

//go:embed migrations
var migrations embed.FS

// Open returns the store in the database of pool, in the schema that comes first in
// the search path of its connections. It creates or migrates the tables. The caller
// closes the pool, after the store. opts may be nil.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *sqlstore.Options) (*sqlstore.Store, error) {
	if err := pgdb.CheckSessions(ctx, pool); err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	db, err := pgdb.New(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return seam.As[sqlstore.Store](seam.OpenStore(ctx, db, migrations, opts))
}

// ReadFrom lets store read the lists, changes and packages of its sets, and the changes of its
// journals, from a standby of its database, to which the connections of standby lead. The caller closes
// that pool after the store. Call ReadFrom before any set or journal is opened.
//
// The primary serves a read instead if the standby lacks a change that store has read or written
// before, does not follow the primary that store uses, cannot be reached within a second, or ends a
// read because its replay must not wait. A standby that has failed is tried again after 2 s.
// [sqlstore.Store.Standby] counts these reads. A standby that cannot be used is not an error; the log
// has a warning.
//
// The role of standby needs what PostgreSQL gives every role by default: to execute pg_control_system
// and pg_control_checkpoint.
func ReadFrom(ctx context.Context, store *sqlstore.Store, standby *pgxpool.Pool) {
	seam.ReadFrom(ctx, store, pgdb.NewStandby(standby))
}

// Follow is for a pool whose address names several servers, one of which is the primary. Call it
// before the pool is created. After another server has taken over, a former primary that comes
// back may still say that it is one; without Follow, the pool may connect to nothing else, and
// every method fails.
func Follow(config *pgxpool.Config) { pgdb.Follow(config) }

// Tx returns a transaction of pgx for [sqlstore.Journal.Record]. For a transaction of
// database/sql, use [sqlstore.SQLTx].
func Tx(tx pgx.Tx) sqlstore.Tx { return transaction{tx} }

type transaction struct{ tx pgx.Tx }

// Exec implements [sqlstore.Tx].
func (t transaction) Exec(ctx context.Context, query string, args ...[]any) error {
	for _, row := range args {
		if _, err := t.tx.Exec(ctx, query, row...); err != nil {
			return err
		}
	}
	return nil
}
