// Package mysqltable opens tables, views and queries of MariaDB and MySQL for package
// sqltable, and writes triggers for them. It needs a driver for database/sql and links none
// itself.
package mysqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

// Open returns the Set of a table in db. If the table does not match t, or cannot be
// read in the order of its keys, the error names the cause and a remedy. Open cannot check
// whether an index provides the order of a view or query; use EXPLAIN. The caller closes
// db.
//
// DATETIME columns are read as UTC. The character set of the connection must be
// utf8mb4.
func Open(ctx context.Context, db *sql.DB, t sqltable.Table) (*sqltable.Set, error) {
	return seam.As[sqltable.Set](engine.Open(ctx, &database{db}, t))
}

// List returns the Listing of a table, view or query in db, for a comparison with a stored
// set. It serves keys in any collation and views without an index. o may be nil. The caller
// closes db.
func List(ctx context.Context, db *sql.DB, t sqltable.Table, o *sqltable.ListingOptions) (*sqltable.Listing, error) {
	return seam.As[sqltable.Listing](engine.List(ctx, &database{db}, t, o))
}

// Triggers returns a writer of triggers for tables in db. They write an outbox, which
// [sqltable.Listing.Outbox] drains.
func Triggers(db *sql.DB) *sqltable.Triggers {
	return engine.Triggers(&database{db}).(*sqltable.Triggers)
}

type database struct{ db *sql.DB }

func (*database) Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (*database) Parameter(int, engine.Kind) string { return "?" }

// A row has its values as text. Integers are parsed from it.
type row struct{ values []sql.RawBytes }

func (r *row) Int(column int) int64 {
	n, _ := strconv.ParseInt(string(r.values[column]), 10, 64)
	return n
}
func (r *row) Append(dst []byte, column int) []byte { return append(dst, r.values[column]...) }
func (r *row) Null(column int) bool                 { return r.values[column] == nil }

func (db *database) QueryInOrder(ctx context.Context, query string, each func(rowdb.Row) error, args ...any) error {
	return db.Query(ctx, query, each, args...)
}

func (db *database) Query(ctx context.Context, query string, each func(rowdb.Row) error, args ...any) error {
	rows, err := db.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row := &row{make([]sql.RawBytes, len(columns))}
	targets := make([]any, len(columns))
	for i := range targets {
		targets[i] = &row.values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ByBytes implements [engine.DB]. Text is sorted in UTF-8, the encoding in which it is read.
func (*database) ByBytes(k *engine.Key) string {
	if k.Kind == engine.Text {
		return asBytes(k.Ref)
	}
	return k.Ref
}

// asBytes returns text in any character set as its bytes in UTF-8.
func asBytes(text string) string { return "CAST(CONVERT(" + text + " USING utf8mb4) AS BINARY)" }

// Fits implements [engine.DB].
func (*database) Fits(k *engine.Key, most int) string {
	switch {
	case k.Kind == engine.Text:
		return fmt.Sprintf("LENGTH(CONVERT(%s USING utf8mb4)) <= %d", k.Ref, most)
	case k.Kind == engine.Binary:
		return fmt.Sprintf("LENGTH(%s) <= %d", k.Ref, most)
	case k.Unsigned:
		return fmt.Sprintf("%s <= %d", k.Ref, int64(math.MaxInt64))
	}
	return ""
}

// LengthRef implements [engine.DB].
func (*database) LengthRef(c *engine.Column) string { return c.ReadRef() }

func (*database) IsLive(c *engine.Column) string {
	switch c.Kind {
	case engine.Integer, engine.Boolean:
		return "coalesce(" + c.Ref + ", 0) = 0"
	case engine.Text, engine.Label:
		return "coalesce(" + c.Ref + ", '') = ''"
	}
	return c.Ref + " IS NULL"
}

// checkIsolation returns an error if reading shows rows that are not committed.
func (db *database) checkIsolation(ctx context.Context) error {
	return db.Query(ctx, "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')", func(r rowdb.Row) error {
		if name := rowdb.String(r, 0); rowdb.String(r, 1) == "READ-UNCOMMITTED" {
			return fmt.Errorf("the isolation level of the connection is READ-UNCOMMITTED, which shows rows that may be rolled back: set %s='READ-COMMITTED' for it, as a parameter of the data source name", name)
		}
		return nil
	})
}

func (db *database) Find(ctx context.Context, rel *engine.Relation) error {
	if err := db.checkIsolation(ctx); err != nil {
		return err
	}
	if rel.Name != "" {
		if rel.Schema == "" {
			if err := db.db.QueryRowContext(ctx, "SELECT coalesce(DATABASE(), '')").Scan(&rel.Schema); err != nil {
				return err
			}
		}
		kind := ""
		err := db.db.QueryRowContext(ctx, "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", rel.Schema, rel.Name).Scan(&kind)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return &engine.TableError{Where: fmt.Sprintf("in database %q", rel.Schema)}
		case err != nil:
			return err
		}
		rel.IsTable = kind == "BASE TABLE"
		rel.Qualified = db.Quote(rel.Schema) + "." + db.Quote(rel.Name)
		rel.From = rel.Qualified + " AS " + rel.Alias
	}
	return db.findColumns(ctx, rel)
}

func (db *database) findColumns(ctx context.Context, rel *engine.Relation) error {
	rows, err := db.db.QueryContext(ctx, "SELECT * FROM "+rel.From+" LIMIT 0")
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	for _, t := range types {
		nullable, known := t.Nullable()
		c := engine.Column{Name: t.Name(), Type: t.DatabaseTypeName(), Nullable: nullable || !known}
		c.Kind = kinds[strings.TrimPrefix(c.Type, "UNSIGNED ")]
		c.Unsigned = c.Type == "UNSIGNED BIGINT"
		// Read times in microseconds since engine.Epoch, independent of the time zone
		// of the connection. A TIMESTAMP is an instant.
		ref := rel.Alias + "." + db.Quote(c.Name)
		switch c.Type {
		case "DATETIME", "DATE":
			c.Read = "TIMESTAMPDIFF(MICROSECOND, '2000-01-01', " + ref + ")"
		case "TIMESTAMP":
			c.Read = fmt.Sprintf("CAST(NULLIF(UNIX_TIMESTAMP(%s), 0) * 1000000 - %d AS SIGNED)", ref, engine.Epoch)
		}
		rel.Columns = append(rel.Columns, c)
	}
	return rows.Err()
}

// kinds are the kinds of columns, by the driver's names for their types.
var kinds = map[string]engine.Kind{
	"TINYINT": engine.Integer, "SMALLINT": engine.Integer, "MEDIUMINT": engine.Integer,
	"INT": engine.Integer, "BIGINT": engine.Integer, "YEAR": engine.Integer,
	"CHAR": engine.Text, "VARCHAR": engine.Text, "TINYTEXT": engine.Text,
	"TEXT": engine.Text, "MEDIUMTEXT": engine.Text, "LONGTEXT": engine.Text,
	"ENUM": engine.Label, "SET": engine.Label,
	"BINARY": engine.Binary, "VARBINARY": engine.Binary, "TINYBLOB": engine.Binary,
	"BLOB": engine.Binary, "MEDIUMBLOB": engine.Binary, "LONGBLOB": engine.Binary,
	"DATETIME": engine.Instant, "DATE": engine.Instant, "TIMESTAMP": engine.Instant,
}

func (db *database) CheckUnique(ctx context.Context, rel *engine.Relation) error {
	if !rel.IsTable {
		return nil
	}
	if rel.Key.Nullable {
		return engine.KeyErrorf("column %q may be NULL: ALTER TABLE %s MODIFY %s … NOT NULL", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name))
	}
	var n int
	err := db.db.QueryRowContext(ctx, `SELECT count(*) FROM information_schema.STATISTICS s
		WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ? AND s.COLUMN_NAME = ? AND s.SEQ_IN_INDEX = 1 AND s.NON_UNIQUE = 0 AND s.SUB_PART IS NULL
		AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS o
			WHERE o.TABLE_SCHEMA = s.TABLE_SCHEMA AND o.TABLE_NAME = s.TABLE_NAME AND o.INDEX_NAME = s.INDEX_NAME AND o.SEQ_IN_INDEX = 2)`,
		rel.Schema, rel.Name, rel.Key.Name).Scan(&n)
	if err == nil && n == 0 {
		err = engine.KeyErrorf("column %q can have the same value in two rows: name a column whose values are unique, such as the primary key; if they are, say so to the database: CREATE UNIQUE INDEX a_name ON %s (%s)", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name))
	}
	return err
}

// CheckIndex implements [engine.DB]. A unique index is enough, because it always has
// the collation of its column.
func (db *database) CheckIndex(ctx context.Context, rel *engine.Relation) error {
	if rel.Key.Kind == engine.Text {
		if rel.Name == "" {
			return fmt.Errorf("the key %q is text, and the collation of a column in a query is unknown: make a view of the query", rel.Key.Name)
		}
		var collation string
		err := db.db.QueryRowContext(ctx, "SELECT coalesce(COLLATION_NAME, '') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ?",
			rel.Schema, rel.Name, rel.Key.Name).Scan(&collation)
		if err != nil {
			return err
		}
		// In other character sets, bytes have another order, or some ranges of keys
		// cannot be queried.
		if collation != "utf8mb4_nopad_bin" && collation != "utf8mb4_0900_bin" {
			return fmt.Errorf("the key %q is in the order of the collation %s, not of its bytes in UTF-8: ALTER TABLE %s MODIFY %s … COLLATE utf8mb4_nopad_bin (in MySQL 8, utf8mb4_0900_bin), or make it VARBINARY, or use another column, such as an integer",
				rel.Key.Name, collation, rel.Qualified, db.Quote(rel.Key.Name))
		}
	}
	return db.CheckUnique(ctx, rel)
}
