package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A database is an empty database of some engine, for one test.
type database struct {
	t    testing.TB
	name string
	exec func(sql string, args ...any) error // with parameters $1, $2 …
	open func(ctx context.Context, t Table) (*Set, error)
	all  func(sql string, n int, args func(i int) []any) error // in one transaction

	// session runs f with a connection of its own.
	session func(f func(exec func(sql string) error))

	pg      *pgxpool.Pool
	lite    *sqlitex.Pool
	maria   *sql.DB
	dialect map[string]string // types by our names for them
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs statements in which placeholders such as {text} stand for the engine's
// types.
func (d *database) run(statements ...string) {
	d.t.Helper()
	for _, s := range statements {
		for name, as := range d.dialect {
			s = strings.ReplaceAll(s, "{"+name+"}", as)
		}
		if err := d.exec(s); err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

func (d *database) provider(t Table) *Set {
	d.t.Helper()
	p, err := d.open(d.t.Context(), t)
	must(d.t, err)
	return p
}

// engines runs test on every available engine.
func engines(t *testing.T, test func(t *testing.T, d *database)) {
	t.Run("postgres", func(t *testing.T) { test(t, postgresDatabase(t)) })
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteDatabase(t)) })
	t.Run("mysql", func(t *testing.T) { test(t, mysqlDatabase(t)) })
}

func postgresDatabase(t testing.TB) *database {
	return postgresDatabaseAt(t, needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES"))
}

func postgresDatabaseAt(t testing.TB, address string) *database {
	config, err := pgxpool.ParseConfig(address)
	must(t, err)
	schema := fmt.Sprintf("sqltable_%d_%d", os.Getpid(), serial())
	config.ConnConfig.RuntimeParams["search_path"] = schema
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	config.ConnConfig.RuntimeParams["deadlock_timeout"] = "50ms"
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	must(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA "+schema+" CASCADE")
		if err != nil {
			t.Error(err)
		}
		pool.Close()
	})
	return &database{
		t: t, name: "postgres", pg: pool,
		exec: func(sql string, args ...any) error { _, err := pool.Exec(t.Context(), sql, args...); return err },
		session: func(f func(func(string) error)) {
			conn, err := pool.Acquire(t.Context())
			must(t, err)
			defer conn.Release()
			f(func(sql string) error { _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeExec); return err })
		},
		all: func(sql string, n int, args func(i int) []any) error {
			var batch pgx.Batch
			for i := range n {
				batch.Queue(sql, args(i)...)
			}
			return pool.SendBatch(t.Context(), &batch).Close()
		},
		open: func(ctx context.Context, tab Table) (*Set, error) { return OpenPostgres(ctx, pool, tab) },
		dialect: map[string]string{
			"int": "bigint", "text": `text COLLATE "C"`, "bytes": "bytea", "time": "timestamptz", "plain": "text",
			"other": `text COLLATE "und-x-icu"`,
		},
	}
}

func sqliteDatabase(t testing.TB) *database {
	// Few connections, because each reads all triggers anew when one has changed.
	const connections = 12
	pool, err := sqlitex.NewPool(filepath.Join(t.TempDir(), "test.db"), sqlitex.PoolOptions{PoolSize: connections})
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	// Nothing has to survive a power cut here.
	for range connections {
		conn, err := pool.Take(t.Context())
		must(t, err)
		must(t, execSQLite(conn, "PRAGMA synchronous=OFF"))
		defer pool.Put(conn)
	}
	return &database{
		t: t, name: "sqlite", lite: pool,
		exec: func(sql string, args ...any) error {
			conn, err := pool.Take(t.Context())
			if err != nil {
				return err
			}
			defer pool.Put(conn)
			return execSQLite(conn, sql, args...)
		},
		session: func(f func(func(string) error)) {
			conn, err := pool.Take(t.Context())
			must(t, err)
			defer pool.Put(conn)
			f(func(sql string) error { return execSQLite(conn, sql) })
		},
		all: func(sql string, n int, args func(i int) []any) (err error) {
			conn, err := pool.Take(t.Context())
			if err != nil {
				return err
			}
			defer pool.Put(conn)
			defer sqlitex.Save(conn)(&err)
			for i := range n {
				if err := sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args(i)}); err != nil {
					return err
				}
			}
			return nil
		},
		open: func(ctx context.Context, tab Table) (*Set, error) { return OpenSQLite(ctx, pool, tab) },
		dialect: map[string]string{
			"int": "INTEGER", "text": "TEXT", "bytes": "BLOB", "time": "TEXT", "plain": "TEXT", "other": "TEXT COLLATE NOCASE",
		},
	}
}

func execSQLite(conn *sqlite.Conn, sql string, args ...any) error {
	return sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{Args: args})
}

func mysqlDatabase(t testing.TB) *database {
	server := needs.Variable(t, "RESOURCESYNC_TEST_MYSQL")
	name := fmt.Sprintf("sqltable_%d_%d", os.Getpid(), serial())
	admin, err := sql.Open("mysql", server)
	must(t, err)
	_, err = admin.ExecContext(t.Context(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	must(t, err)
	slash := strings.LastIndexByte(server, '/')
	own := server[:slash+1] + name
	if i := strings.IndexByte(server[slash:], '?'); i >= 0 {
		own += server[slash+i:]
	}
	db, err := sql.Open("mysql", own)
	must(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+name)
		if err := errors.Join(err, db.Close(), admin.Close()); err != nil {
			t.Error(err)
		}
	})
	return &database{
		t: t, name: "mysql", maria: db,
		exec: func(sql string, args ...any) error {
			_, err := db.ExecContext(t.Context(), marks.ReplaceAllString(sql, "?"), args...)
			return err
		},
		all: func(sql string, n int, args func(i int) []any) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			for i := range n {
				if _, err := tx.ExecContext(t.Context(), marks.ReplaceAllString(sql, "?"), args(i)...); err != nil {
					return err
				}
			}
			return tx.Commit()
		},
		open: func(ctx context.Context, tab Table) (*Set, error) { return OpenMySQL(ctx, db, tab) },
		dialect: map[string]string{
			"int": "BIGINT", "text": "VARCHAR(500) COLLATE utf8mb4_nopad_bin", "bytes": "VARBINARY(1024)", "time": "DATETIME(6)",
			"plain": "TEXT", "other": "VARCHAR(500) COLLATE utf8mb4_general_ci",
		},
	}
}

var marks = regexp.MustCompile(`\$[0-9]+`)

var serials atomic.Int64

func serial() int64 { return serials.Add(1) }

// list returns the resources in r, unchanged.
func list(t testing.TB, p resourcesync.Provider, r resourcesync.Range) []resourcesync.Resource {
	t.Helper()
	var all []resourcesync.Resource
	for res, err := range p.Resources(t.Context(), r) {
		must(t, err)
		all = append(all, res.Clone())
	}
	return all
}

// keysOf returns the keys of resources in one line.
func keysOf(resources []resourcesync.Resource) string {
	var keys []string
	for _, r := range resources {
		keys = append(keys, r.Key)
	}
	return strings.Join(keys, " ")
}
