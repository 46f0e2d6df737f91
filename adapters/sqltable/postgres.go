package sqltable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
)

// Postgres returns the Provider of a table in the database of pool, PostgreSQL 14
// or later, whose encoding must be UTF8. It fails with an error that says what is
// wrong, and what to do about it, if the table is not as t says or not fit to be
// read in the order of its keys.
func Postgres(ctx context.Context, pool *pgxpool.Pool, t Table) (*Provider, error) {
	db, err := newPostgres(ctx, pool)
	if err != nil {
		return nil, err
	}
	return open(ctx, db, t)
}

type postgresEngine struct {
	pool *pgxpool.Pool
	rows rowdb.DB
}

func newPostgres(ctx context.Context, pool *pgxpool.Pool) (*postgresEngine, error) {
	switch mode := pool.Config().ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
	default:
		return nil, fmt.Errorf("sqltable: the pool's DefaultQueryExecMode is %v, in which rows come as text: leave it as it is, or set DescribeExec", mode)
	}
	rows, err := pgdb.New(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqltable: %w", err)
	}
	var encoding string
	if err := pool.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return nil, fmt.Errorf("sqltable: %w", err)
	}
	if encoding != "UTF8" {
		return nil, fmt.Errorf("sqltable: the encoding of the database is %s, in which text has another order than in UTF8: move the data into a database with UTF8", encoding)
	}
	return &postgresEngine{pool, rows}, nil
}

func (*postgresEngine) quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (db *postgresEngine) parameter(n int, k kind) string {
	as := map[kind]string{integer: "bigint", text: "text", binary: "bytea", uuid: "uuid"}
	return "$" + strconv.Itoa(n) + "::" + as[k]
}

func (db *postgresEngine) query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.rows.Do(ctx, func(c rowdb.Conn) error { return c.Query(ctx, sql, each, args...) })
}

// queryInOrder keeps the planner from sorting all the rest of a table for each page,
// as it would with no statistics, or with those of a table that was small. A Where may
// join other tables in any way.
func (db *postgresEngine) queryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"); err != nil {
			return err
		}
		return c.Query(ctx, sql, each, args...)
	})
}

func (*postgresEngine) isLive(c *column) string {
	switch c.kind {
	case boolean:
		return c.ref + " IS NOT TRUE"
	case integer:
		return "coalesce(" + c.ref + ", 0) = 0"
	case text, label:
		return "coalesce(" + c.ref + "::text, '') = ''"
	}
	return c.ref + " IS NULL"
}

func (db *postgresEngine) find(ctx context.Context, t *Table, rel *relation) error {
	rel.from = "(\n" + t.Query + "\n) AS " + rel.alias
	if t.Name != "" {
		name := db.quote(t.Name)
		if t.Schema != "" {
			name = db.quote(t.Schema) + "." + name
		}
		var schema string
		var relkind string
		err := db.pool.QueryRow(ctx, `SELECT n.nspname, c.relkind::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p', 'm', 'v', 'f')`, name).Scan(&schema, &relkind)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && t.Schema == "":
			return errors.New("there is no such table or view in the search path of the connection: name its Schema")
		case errors.Is(err, pgx.ErrNoRows):
			return errors.New("there is no such table or view")
		case err != nil:
			return err
		}
		rel.Schema = schema
		rel.name = db.quote(schema) + "." + db.quote(t.Name)
		rel.from = rel.name + " AS " + rel.alias
		rel.isTable = strings.Contains("rpm", relkind)
	}
	return db.findColumns(ctx, rel)
}

func (db *postgresEngine) findColumns(ctx context.Context, rel *relation) error {
	rows, err := db.pool.Query(ctx, "SELECT * FROM "+rel.from+" LIMIT 0", pgx.QueryExecModeDescribeExec)
	if err != nil {
		return err
	}
	fields := slices.Clone(rows.FieldDescriptions())
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	for _, f := range fields {
		c := column{name: f.Name, nullable: true}
		var category string
		err := db.pool.QueryRow(ctx, `SELECT t.typname::text, t.typcategory::text,
			coalesce((SELECT NOT attnotnull FROM pg_catalog.pg_attribute
				WHERE attrelid = pg_catalog.to_regclass(nullif($2, '')) AND attname = $3 AND NOT attisdropped), true)
			FROM pg_catalog.pg_type t WHERE t.oid = $1`, f.DataTypeOID, rel.name, f.Name).Scan(&c.is, &category, &c.nullable)
		if err != nil {
			return err
		}
		c.kind = postgresKind(c.is, category)
		rel.columns = append(rel.columns, c)
	}
	return nil
}

func postgresKind(name, category string) kind {
	switch name {
	case "int2", "int4", "int8":
		return integer
	case "text", "varchar":
		return text
	case "bytea":
		return binary
	case "uuid":
		return uuid
	case "bool":
		return boolean
	case "timestamptz", "timestamp":
		return instant
	case "date":
		return date
	}
	if category == "S" || category == "E" {
		return label
	}
	return other
}
