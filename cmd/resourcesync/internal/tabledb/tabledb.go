// Package tabledb has the settings of tables, and opens their databases by the addresses that people
// give.
package tabledb

import (
	"context"
	gosql "database/sql" // sql is a function of the tests
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/internal/paths"
)

// A DB is the database of a table. Exactly one field is not nil.
type DB struct {
	Postgres *pgxpool.Pool
	Sqlite   *sqlitex.Pool
	Mysql    *gosql.DB
}

// Open opens the database at an address of --db. It never creates a database.
func Open(ctx context.Context, address string, writes bool) (*DB, error) {
	switch {
	case IsPostgres(address):
		config, err := pgxpool.ParseConfig(address)
		if err != nil {
			return nil, err
		}
		pgstore.Follow(config)
		pool, err := pgxpool.NewWithConfig(ctx, config)
		return &DB{Postgres: pool}, err
	case IsMySQL(address):
		config, err := MySQLConfig(address)
		if err != nil {
			return nil, err
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		return &DB{Mysql: gosql.OpenDB(connector)}, nil
	}
	if _, err := os.Stat(address); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--db %q: there is no such file; the name of a database needs its server, as in mysql://user@127.0.0.1/%[2]s or postgres://user@127.0.0.1/%[2]s",
			address, url.PathEscape(filepath.Base(address)))
	}
	mode := sqlite.OpenReadOnly
	if writes {
		mode = sqlite.OpenReadWrite
	}
	const connections = 4
	pool, err := sqlitex.NewPool(address, sqlitex.PoolOptions{PoolSize: connections, Flags: mode})
	if err != nil {
		return nil, fmt.Errorf("--db %q: %w", address, err)
	}
	return &DB{Sqlite: pool}, nil
}

// Close closes the connections.
func (db *DB) Close() error {
	switch {
	case db.Postgres != nil:
		db.Postgres.Close()
		return nil
	case db.Mysql != nil:
		return db.Mysql.Close()
	}
	return db.Sqlite.Close()
}

// Triggers returns the triggers of the database.
func (db *DB) Triggers(ctx context.Context) (*sqltable.Triggers, error) {
	switch {
	case db.Postgres != nil:
		return pgtable.Triggers(ctx, db.Postgres)
	case db.Mysql != nil:
		return mysqltable.Triggers(db.Mysql), nil
	}
	return sqlitetable.Triggers(db.Sqlite), nil
}

// List opens a table for comparisons.
func (db *DB) List(ctx context.Context, t sqltable.Table, o *sqltable.ListingOptions) (*sqltable.Listing, error) {
	switch {
	case db.Postgres != nil:
		return pgtable.List(ctx, db.Postgres, t, o)
	case db.Mysql != nil:
		return mysqltable.List(ctx, db.Mysql, t, o)
	}
	return sqlitetable.List(ctx, db.Sqlite, t, o)
}

// Open opens a table that is published from its own rows.
func (db *DB) Open(ctx context.Context, t sqltable.Table) (*sqltable.Set, error) {
	if db.Postgres != nil {
		return pgtable.Open(ctx, db.Postgres, t)
	}
	return sqlitetable.Open(ctx, db.Sqlite, t)
}

// Identify returns an identity that connections have in common only if they lead to the same
// database and schema, even at different addresses. A replica is another database. PostgreSQL
// checks the rights to a function before it runs any part of a statement.
func Identify(ctx context.Context, pool *pgxpool.Pool) (identity string, err error) {
	server := "pg_catalog.pg_postmaster_start_time()::text"
	var system bool
	if err := pool.QueryRow(ctx, "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')").Scan(&system); err != nil {
		return "", err
	}
	if system {
		server = "(SELECT system_identifier::text FROM pg_catalog.pg_control_system())"
	}
	err = pool.QueryRow(ctx, "SELECT concat_ws(' ', "+server+`, pg_catalog.pg_is_in_recovery(),
		(SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()), current_schema())`).Scan(&identity)
	return identity, err
}

// SameFile reports whether two paths lead to the same file.
func SameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// IsMySQL reports whether an address names a MariaDB or MySQL database.
func IsMySQL(address string) bool {
	return strings.HasPrefix(address, "mysql://") || strings.HasPrefix(address, "mariadb://")
}

// MySQLConfig returns the configuration of the driver for a URL, such as
// mysql://user:password@host:3306/database. A socket on this computer is a parameter:
// mysql://user@/database?socket=/run/mysqld/mysqld.sock.
func MySQLConfig(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("--db is not a URL: give mysql://user@host/database, with percent-encoded special characters")
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	query := u.Query()
	switch socket := query.Get("socket"); {
	case config.DBName == "" || strings.Contains(config.DBName, "/"):
		return nil, fmt.Errorf("--db: give the database, too, as in mysql://user@host/database")
	case socket != "":
		config.Net, config.Addr = "unix", socket
	case u.Hostname() == "":
		return nil, fmt.Errorf("--db: give the server, too, as in mysql://user@host/database, or mysql://user@/database?socket=/run/mysqld/mysqld.sock")
	default:
		const port = "3306"
		config.Net, config.Addr = "tcp", u.Host
		if u.Port() == "" {
			config.Addr = net.JoinHostPort(u.Hostname(), port)
		}
	}
	config.TLSConfig = query.Get("tls") // true, skip-verify or preferred
	for name := range query {
		if name != "socket" && name != "tls" {
			return nil, fmt.Errorf("--db: unknown parameter %q; give socket or tls", name)
		}
	}
	config.Collation = "utf8mb4_bin"
	config.Logger = new(mysql.NopLogger) // of lost connections, which the caller's errors report
	return config, nil
}

// PlaceOf returns an address of --db without users, passwords, parameters and the usual port,
// or the path of a file free of symbolic links.
func PlaceOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || !IsPostgres(address) && !IsMySQL(address) {
		if path, err := paths.Real(address); err == nil {
			return path
		}
		return address
	}
	usual := ":3306"
	if IsPostgres(address) {
		usual = ":5432"
	}
	return u.Scheme + "://" + strings.TrimSuffix(u.Host, usual) + u.Path
}
