// Package pgstore opens the stores of package sqlstore in PostgreSQL 14 and later,
// for any number of processes.
//
// Outside the pool, each running process uses one connection. The process that sequences
// changes uses one more, the process that publishes them another one, and each scan uses
// two. A connection pooler must pool sessions,
// not transactions.
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
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
)

//go:embed migrations
var migrations embed.FS

// Open returns the store in the database of pool, in the schema that comes first in
// the search path of its connections. It creates or migrates the tables. The caller
// closes the pool, after the store. opts may be nil.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *sqlstore.Options) (*sqlstore.Store, error) {
	db, err := pgdb.New(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return sqlstore.New(ctx, db, migrations, opts)
}

// Tx returns a transaction of pgx for [sqlstore.Journal.Record].
func Tx(tx pgx.Tx) sqlstore.Tx { return transaction{tx} }

type transaction struct{ tx pgx.Tx }

// Insert implements [sqlstore.Tx].
func (t transaction) Insert(ctx context.Context, db rowdb.DB, set int64, changes []string, keys, bodies [][]byte) error {
	_, err := t.tx.Exec(ctx, "INSERT INTO "+db.Schema()+`.rs_pending (set_id, change, key, body)
		SELECT $1, change, key, body FROM unnest($2::text[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS t (change, key, body, n) ORDER BY n`,
		set, changes, keys, bodies)
	return err
}
