package sqltable

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The functions of the engines' packages, which import this one. The tests of
// package sqltable_test set them.
var (
	OpenPostgres     func(ctx context.Context, pool *pgxpool.Pool, t Table) (*Set, error)
	OpenSQLite       func(ctx context.Context, pool *sqlitex.Pool, t Table) (*Set, error)
	OpenMySQL        func(ctx context.Context, db *sql.DB, t Table) (*Set, error)
	PostgresTriggers func(ctx context.Context, pool *pgxpool.Pool) (*Triggers, error)
	SQLiteTriggers   func(pool *sqlitex.Pool) *Triggers
	MySQLTriggers    func(db *sql.DB) *Triggers
	ListPostgres     func(ctx context.Context, pool *pgxpool.Pool, t Table, o *ListingOptions) (*Listing, error)
	ListSQLite       func(ctx context.Context, pool *sqlitex.Pool, t Table, o *ListingOptions) (*Listing, error)
	ListMySQL        func(ctx context.Context, db *sql.DB, t Table, o *ListingOptions) (*Listing, error)
)
