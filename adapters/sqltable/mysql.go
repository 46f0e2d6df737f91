package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// MySQL returns the Provider of a table in db, which is MariaDB or MySQL, by
// whatever driver. It fails with an error that says what is wrong, and what to do
// about it, if the table is not as t says or not fit to be read in the order of
// its keys. Of views and queries it cannot tell whether an index helps; there
// EXPLAIN can.
//
// DATETIME columns are taken to be in UTC. The character set of the connection
// must be utf8mb4. A BIGINT UNSIGNED beyond the range of BIGINT is an error where it
// is read.
func MySQL(ctx context.Context, db *sql.DB, t Table) (*Provider, error) {
	return open(ctx, &mysqlEngine{db}, t)
}

type mysqlEngine struct{ db *sql.DB }

func (*mysqlEngine) quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (*mysqlEngine) parameter(int, kind) string { return "?" }

// mysqlRow is a row as text, which is what integers are made of again.
type mysqlRow struct{ values []sql.RawBytes }

func (r *mysqlRow) Int(column int) int64 {
	n, _ := strconv.ParseInt(string(r.values[column]), 10, 64)
	return n
}
func (r *mysqlRow) Append(dst []byte, column int) []byte { return append(dst, r.values[column]...) }
func (r *mysqlRow) Null(column int) bool                 { return r.values[column] == nil }

func (db *mysqlEngine) queryInOrder(ctx context.Context, query string, each func(rowdb.Row) error, args ...any) error {
	return db.query(ctx, query, each, args...)
}

func (db *mysqlEngine) query(ctx context.Context, query string, each func(rowdb.Row) error, args ...any) error {
	rows, err := db.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	row := &mysqlRow{make([]sql.RawBytes, len(types))}
	targets := make([]any, len(types))
	var large []int // columns whose values may not fit into an int64
	for i := range targets {
		targets[i] = &row.values[i]
		if types[i].DatabaseTypeName() == "UNSIGNED BIGINT" {
			large = append(large, i)
		}
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for _, i := range large {
			if err := checkInteger(row.values[i]); err != nil {
				return fmt.Errorf("column %q: %w", types[i].Name(), err)
			}
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// checkInteger reports that the text of an unsigned integer stands for none that
// we can read.
func checkInteger(text []byte) error {
	if len(text) < digits {
		return nil
	}
	_, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		err = fmt.Errorf("%s is larger than %d, the largest integer that is read", text, int64(math.MaxInt64))
	}
	return err
}

func (*mysqlEngine) isLive(c *column) string {
	switch c.kind {
	case integer, boolean:
		return "coalesce(" + c.ref + ", 0) = 0"
	case text, label:
		return "coalesce(" + c.ref + ", '') = ''"
	}
	return c.ref + " IS NULL"
}

func (db *mysqlEngine) find(ctx context.Context, t *Table, rel *relation) error {
	rel.from = "(\n" + t.Query + "\n) AS " + rel.alias
	if t.Name != "" {
		if t.Schema == "" {
			if err := db.db.QueryRowContext(ctx, "SELECT coalesce(DATABASE(), '')").Scan(&rel.Schema); err != nil {
				return err
			}
		}
		kind := ""
		err := db.db.QueryRowContext(ctx, "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", rel.Schema, t.Name).Scan(&kind)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("there is no such table or view in database %q", rel.Schema)
		case err != nil:
			return err
		}
		rel.isTable = kind == "BASE TABLE"
		rel.name = db.quote(rel.Schema) + "." + db.quote(t.Name)
		rel.from = rel.name + " AS " + rel.alias
	}
	return db.findColumns(ctx, rel)
}

func (db *mysqlEngine) findColumns(ctx context.Context, rel *relation) error {
	rows, err := db.db.QueryContext(ctx, "SELECT * FROM "+rel.from+" LIMIT 0")
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
		c := column{name: t.Name(), is: t.DatabaseTypeName(), nullable: nullable || !known}
		c.kind = mysqlKind(c.is)
		// In microseconds from the epoch of all engines, whatever the time
		// zone of the connection. A TIMESTAMP is an instant.
		ref := rel.alias + "." + db.quote(c.name)
		switch c.is {
		case "DATETIME", "DATE":
			c.read = "TIMESTAMPDIFF(MICROSECOND, '2000-01-01', " + ref + ")"
		case "TIMESTAMP":
			c.read = fmt.Sprintf("CAST(NULLIF(UNIX_TIMESTAMP(%s), 0) * 1000000 - %d AS SIGNED)", ref, postgresEpoch)
		}
		rel.columns = append(rel.columns, c)
	}
	return rows.Err()
}

// mysqlKind is the kind of a column, by the name that the driver has for its
// type.
func mysqlKind(name string) kind {
	switch name = strings.TrimPrefix(name, "UNSIGNED "); name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		return integer
	case "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT":
		return text
	case "ENUM", "SET":
		return label
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB":
		return binary
	case "DATETIME", "DATE", "TIMESTAMP":
		return instant
	}
	return other
}

func (db *mysqlEngine) checkUnique(ctx context.Context, rel *relation) error {
	if !rel.isTable {
		return nil
	}
	if rel.key.nullable {
		return fmt.Errorf("the key %q may be NULL: ALTER TABLE %s MODIFY %s … NOT NULL", rel.Key, rel.name, db.quote(rel.Key))
	}
	var n int
	err := db.db.QueryRowContext(ctx, `SELECT count(*) FROM information_schema.STATISTICS s
		WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ? AND s.COLUMN_NAME = ? AND s.SEQ_IN_INDEX = 1 AND s.NON_UNIQUE = 0 AND s.SUB_PART IS NULL
		AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS o
			WHERE o.TABLE_SCHEMA = s.TABLE_SCHEMA AND o.TABLE_NAME = s.TABLE_NAME AND o.INDEX_NAME = s.INDEX_NAME AND o.SEQ_IN_INDEX = 2)`,
		rel.Schema, rel.Name, rel.Key).Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("the key %q need not be unique: CREATE UNIQUE INDEX a_name ON %s (%s)", rel.Key, rel.name, db.quote(rel.Key))
	}
	return err
}

// checkIndex needs no more than a unique index: it has the collation of its
// column, always.
func (db *mysqlEngine) checkIndex(ctx context.Context, rel *relation) error {
	if rel.key.kind == text {
		if rel.Name == "" {
			return fmt.Errorf("the key %q is text, whose collation a query does not tell: make a view of the query", rel.Key)
		}
		var collation string
		err := db.db.QueryRowContext(ctx, "SELECT coalesce(COLLATION_NAME, '') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ?",
			rel.Schema, rel.Name, rel.Key).Scan(&collation)
		if err != nil {
			return err
		}
		// Of other character sets, bytes have another order, or not every range
		// of keys can be asked for.
		if collation != "utf8mb4_nopad_bin" && collation != "utf8mb4_0900_bin" {
			return fmt.Errorf("the key %q is in the order of collation %s, and not of its bytes in UTF-8: ALTER TABLE %s MODIFY %s … COLLATE utf8mb4_nopad_bin (in MySQL 8, utf8mb4_0900_bin), or make it VARBINARY, or use another column, such as an integer",
				rel.Key, collation, rel.name, db.quote(rel.Key))
		}
	}
	return db.checkUnique(ctx, rel)
}
