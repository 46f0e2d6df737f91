// Package pgtable opens tables, views and queries of PostgreSQL 14 and later for
// package sqltable, and writes triggers for them.
package pgtable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

// Open returns the Set of a table in the database of pool, whose encoding must
// be UTF8. If the table does not match t, or cannot be read in the order of its keys, the
// error names the cause and a remedy. The caller closes the pool.
func Open(ctx context.Context, pool *pgxpool.Pool, t sqltable.Table) (*sqltable.Set, error) {
	db, err := newDatabase(ctx, pool)
	if err != nil {
		return nil, err
	}
	return seam.As[sqltable.Set](engine.Open(ctx, db, t))
}

// List returns the Listing of a table, view or query in the database of pool, for a
// comparison with a stored set. It serves keys in any collation and views without an index.
// o may be nil. The caller closes the pool.
func List(ctx context.Context, pool *pgxpool.Pool, t sqltable.Table, o *sqltable.ListingOptions) (*sqltable.Listing, error) {
	db, err := newDatabase(ctx, pool)
	if err != nil {
		return nil, err
	}
	return seam.As[sqltable.Listing](engine.List(ctx, db, t, o))
}

// Triggers returns a writer of triggers for tables in the database of pool. The store
// is the one in the first schema of the search path of the pool's connections; the tables
// can be in any schema.
func Triggers(ctx context.Context, pool *pgxpool.Pool) (*sqltable.Triggers, error) {
	db, err := newDatabase(ctx, pool)
	if err != nil {
		return nil, err
	}
	return engine.Triggers(db).(*sqltable.Triggers), nil
}

type database struct {
	pool *pgxpool.Pool
	rows rowdb.DB
}

func newDatabase(ctx context.Context, pool *pgxpool.Pool) (*database, error) {
	switch mode := pool.Config().ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
	default:
		return nil, fmt.Errorf("sqltable: the pool's DefaultQueryExecMode is %v, which reads rows as text: use the default, or DescribeExec", mode)
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
		return nil, fmt.Errorf("sqltable: the encoding of the database is %s, in which text is ordered differently than in UTF8: move the data to a database with UTF8", encoding)
	}
	return &database{pool, rows}, nil
}

func (*database) Quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (db *database) Parameter(n int, k engine.Kind) string {
	as := map[engine.Kind]string{engine.Integer: "bigint", engine.Text: "text", engine.Binary: "bytea", engine.UUID: "uuid"}
	return "$" + strconv.Itoa(n) + "::" + as[k]
}

func (db *database) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.rows.Do(ctx, func(c rowdb.Conn) error { return c.Query(ctx, sql, each, args...) })
}

// QueryInOrder implements [engine.DB]. It prevents a plan that sorts the rest of a
// table for each page, which the planner would choose without statistics, or with
// statistics from when the table was small. A Where may join other tables in any way.
func (db *database) QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"); err != nil {
			return err
		}
		return c.Query(ctx, sql, each, args...)
	})
}

func (*database) ByBytes(k *engine.Key) string { return k.Ref + byBytes(k) }

func (*database) Fits(k *engine.Key, most int) string {
	if k.Kind == engine.Text || k.Kind == engine.Binary {
		return fmt.Sprintf("octet_length(%s) <= %d", k.Ref, most)
	}
	return ""
}

// LengthRef implements [engine.DB].
func (*database) LengthRef(c *engine.Column) string { return c.ReadRef() }

func (*database) IsLive(c *engine.Column) string {
	switch c.Kind {
	case engine.Boolean:
		return c.Ref + " IS NOT TRUE"
	case engine.Integer:
		return "coalesce(" + c.Ref + ", 0) = 0"
	case engine.Text, engine.Label:
		return "coalesce(" + c.Ref + "::text, '') = ''"
	}
	return c.Ref + " IS NULL"
}

func (db *database) Find(ctx context.Context, rel *engine.Relation) error {
	if rel.Name != "" {
		name := db.Quote(rel.Name)
		if rel.Schema != "" {
			name = db.Quote(rel.Schema) + "." + name
		}
		var schema, relkind string
		err := db.pool.QueryRow(ctx, `SELECT n.nspname, c.relkind::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p', 'm', 'v', 'f')`, name).Scan(&schema, &relkind)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && rel.Schema == "":
			return &engine.TableError{Where: "in the search path of the connection: name its schema, too"}
		case errors.Is(err, pgx.ErrNoRows):
			return &engine.TableError{}
		case err != nil:
			return err
		}
		rel.Schema = schema
		rel.Qualified = db.Quote(schema) + "." + db.Quote(rel.Name)
		rel.From = rel.Qualified + " AS " + rel.Alias
		rel.IsTable = strings.Contains("rpm", relkind)
	}
	return db.findColumns(ctx, rel)
}

func (db *database) findColumns(ctx context.Context, rel *engine.Relation) error {
	rows, err := db.pool.Query(ctx, "SELECT * FROM "+rel.From+" LIMIT 0", pgx.QueryExecModeDescribeExec)
	if err != nil {
		return err
	}
	fields := slices.Clone(rows.FieldDescriptions())
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	for _, f := range fields {
		c := engine.Column{Name: f.Name, Nullable: true}
		var category string
		err := db.pool.QueryRow(ctx, `SELECT t.typname::text, t.typcategory::text,
			coalesce((SELECT NOT attnotnull FROM pg_catalog.pg_attribute
				WHERE attrelid = pg_catalog.to_regclass(nullif($2, '')) AND attname = $3 AND NOT attisdropped), true)
			FROM pg_catalog.pg_type t WHERE t.oid = $1`, f.DataTypeOID, rel.Qualified, f.Name).Scan(&c.Type, &category, &c.Nullable)
		if err != nil {
			return err
		}
		c.Kind = kinds[c.Type]
		if c.Kind == engine.Other && (category == "S" || category == "E") {
			c.Kind = engine.Label
		}
		rel.Columns = append(rel.Columns, c)
	}
	return nil
}

// kinds are the kinds of columns, by the names of their types.
var kinds = map[string]engine.Kind{
	"int2": engine.Integer, "int4": engine.Integer, "int8": engine.Integer,
	"text": engine.Text, "varchar": engine.Text,
	"bytea": engine.Binary, "uuid": engine.UUID, "bool": engine.Boolean,
	"timestamptz": engine.Instant, "timestamp": engine.Instant, "date": engine.Date,
}

func (db *database) CheckUnique(ctx context.Context, rel *engine.Relation) error {
	if !rel.IsTable {
		return nil
	}
	if rel.Key.Nullable {
		var kind string
		if err := db.pool.QueryRow(ctx, "SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1)", rel.Qualified).Scan(&kind); err != nil {
			return err
		}
		if kind != "m" { // whose columns cannot be declared NOT NULL
			return engine.KeyErrorf("column %q may be NULL: ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name))
		}
	}
	indexes, err := db.indexes(ctx, rel)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(indexes, func(i index) bool { return i.Unique }) {
		return nil
	}
	return engine.KeyErrorf("column %q can have the same value in two rows: name a column whose values are unique, such as the primary key; if they are, say so to the database: CREATE UNIQUE INDEX ON %s (%s%s)", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name), byBytes(&rel.Key))
}

// byBytes returns the COLLATE clause of an index on the key in the order of bytes, ""
// unless the key is text.
func byBytes(k *engine.Key) string {
	if k.Kind == engine.Text {
		return ` COLLATE "C"`
	}
	return ""
}

// An index is an index whose first column is the key.
type index struct {
	Unique    bool // the key alone
	ByBytes   bool
	Collation string // qualified; "" if it is the column's own
	Name      string // of the collation
}

// indexes returns the complete indexes of rel whose first column is the key.
func (db *database) indexes(ctx context.Context, rel *engine.Relation) ([]index, error) {
	rows, _ := db.pool.Query(ctx, `
		SELECT i.indisunique AND i.indnkeyatts = 1,
			i.indcollation[0] = 0 OR coalesce(
				CASE WHEN l.collname = 'default'
					THEN d.datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') AND coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'
						OR to_jsonb(d) ->> 'datlocprovider' = 'b'
					ELSE l.collcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') AND l.collprovider = 'c' OR l.collprovider = 'b'
				END, false),
			CASE WHEN i.indcollation[0] = a.attcollation THEN '' ELSE quote_ident(n.nspname) || '.' || quote_ident(l.collname) END,
			CASE WHEN l.collname = 'default' THEN d.datcollate ELSE coalesce(l.collname, '') END
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[0]
		JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod
		JOIN pg_catalog.pg_database d ON d.datname = current_database()
		LEFT JOIN pg_catalog.pg_collation l ON l.oid = i.indcollation[0]
		LEFT JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
		WHERE i.indrelid = pg_catalog.to_regclass($1) AND a.attname = $2
			AND m.amname = 'btree' AND o.opcdefault AND i.indpred IS NULL AND i.indisvalid AND i.indislive
		ORDER BY i.indisunique DESC, i.indexrelid`, rel.Qualified, rel.Key.Name)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[index])
}

func (db *database) CheckIndex(ctx context.Context, rel *engine.Relation) error {
	if !rel.IsTable {
		return db.checkPlan(ctx, rel)
	}
	if err := db.CheckUnique(ctx, rel); err != nil {
		return err
	}
	indexes, err := db.indexes(ctx, rel)
	if err != nil {
		return err
	}
	for _, i := range indexes {
		if i.ByBytes {
			if i.Collation != "" {
				rel.Order += " COLLATE " + i.Collation
			}
			return nil
		}
	}
	return fmt.Errorf("the indexes of the key %q are in the order of the collation %q, not of its bytes: CREATE UNIQUE INDEX ON %s (%s%s)",
		rel.Key.Name, indexes[0].Name, rel.Qualified, db.Quote(rel.Key.Name), byBytes(&rel.Key))
}

// checkPlan returns an error if a view or query would be sorted again for every page.
// It makes the planner avoid sorting, even of small tables.
func (db *database) checkPlan(ctx context.Context, rel *engine.Relation) error {
	rel.Order = db.ByBytes(&rel.Key)
	sorts := false
	err := db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"); err != nil {
			return err
		}
		return c.Query(ctx, "EXPLAIN SELECT "+rel.List+" FROM "+rel.From+engine.Where(rel.Filter)+" ORDER BY "+rel.Order+" LIMIT 2", func(row rowdb.Row) error {
			node := strings.TrimPrefix(strings.TrimSpace(rowdb.String(row, 0)), "->  ")
			sorts = sorts || strings.HasPrefix(node, "Sort  (") || strings.HasPrefix(node, "Incremental Sort  (")
			return nil
		})
	})
	if err != nil {
		return err
	}
	if sorts {
		return rel.UnsortedError(byBytes(&rel.Key))
	}
	return nil
}
