package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
)

// The functions of the engines' packages, which import this one. The tests of
// package sqlstore_test set them.
var (
	OpenFile     func(ctx context.Context, path string, opts *Options) (*Store, error)
	OpenPostgres func(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error)
	PgxTx        func(tx pgx.Tx) Tx
	SQLiteTx     func(conn *sqlite.Conn) Tx
)
