package sqltable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// SQLite returns the Provider of a table in the database of pool, whose encoding
// must be UTF-8. It fails with an error that says what is wrong, and what to do
// about it, if the table is not as t says or not fit to be read in the order of
// its keys.
//
// While a page is read, it is a reader like any other: in journal mode WAL, which
// is advised, it does not keep writers waiting.
func SQLite(ctx context.Context, pool *sqlitex.Pool, t Table) (*Provider, error) {
	return open(ctx, &sqliteEngine{pool}, t)
}

type sqliteEngine struct{ pool *sqlitex.Pool }

func (*sqliteEngine) quote(name string) string {
	// In double quotes, the name of a column that is gone would be a text.
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (*sqliteEngine) parameter(n int, _ kind) string { return "$" + strconv.Itoa(n) }

func (db *sqliteEngine) query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.do(ctx, func(c rowdb.Conn) error { return c.Query(ctx, sql, each, args...) })
}

func (db *sqliteEngine) queryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.query(ctx, sql, each, args...)
}

func (db *sqliteEngine) do(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(conn *sqlite.Conn) error { return f(sqlitedb.Wrap(conn)) })
}

func (db *sqliteEngine) take(ctx context.Context, f func(*sqlite.Conn) error) error {
	conn, err := db.pool.Take(ctx)
	if err == nil {
		defer db.pool.Put(conn)
		err = f(conn)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the connection was interrupted
	}
	return err
}

// look is do for what is about the schema.
func (db *sqliteEngine) look(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(conn *sqlite.Conn) error {
		return errors.Join(refresh(conn), f(sqlitedb.Wrap(conn)))
	})
}

// refresh reads a table, because only then SQLite finds out that another
// connection has changed the schema.
func refresh(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", nil)
}

func (*sqliteEngine) isLive(c *column) string {
	return fmt.Sprintf("(%s IS NULL OR %[1]s = 0 OR %[1]s = '')", c.ref)
}

func (db *sqliteEngine) find(ctx context.Context, t *Table, rel *relation) error {
	return db.look(ctx, func(c rowdb.Conn) error {
		encoding := ""
		err := c.Query(ctx, "PRAGMA encoding", func(r rowdb.Row) error { encoding = rowdb.String(r, 0); return nil })
		if err != nil {
			return err
		}
		if encoding != "UTF-8" {
			return fmt.Errorf("the encoding of the database is %s, in which text has another order than in UTF-8: move the data into a database with UTF-8", encoding)
		}
		if t.Query != "" {
			return db.findQuery(ctx, c, rel)
		}
		err = c.Query(ctx, `SELECT schema, name, type <> 'view' FROM pragma_table_list
			WHERE name = $1 COLLATE NOCASE AND ($2 = '' AND schema <> 'temp' OR schema = $2 COLLATE NOCASE) AND type <> 'shadow'
			ORDER BY schema <> 'main', schema LIMIT 1`, func(r rowdb.Row) error {
			rel.Schema, rel.Name, rel.isTable = rowdb.String(r, 0), rowdb.String(r, 1), r.Int(2) != 0
			rel.name = db.quote(rel.Schema) + "." + db.quote(rel.Name)
			return nil
		}, t.Name, t.Schema)
		if err == nil && rel.name == "" {
			err = errors.New("there is no such table or view")
		}
		if err != nil {
			return err
		}
		rel.from = rel.name + " AS " + rel.alias
		return db.findColumns(ctx, c, rel, rel.Name, rel.Schema)
	})
}

// findQuery learns the columns of a query from a view that is there for a moment,
// for this connection only.
func (db *sqliteEngine) findQuery(ctx context.Context, c rowdb.Conn, rel *relation) error {
	rel.from = "(\n" + rel.Query + "\n) AS " + rel.alias
	if _, err := c.Exec(ctx, "CREATE TEMP VIEW rs_query_columns AS SELECT * FROM "+rel.from); err != nil {
		return err
	}
	err := db.findColumns(ctx, c, rel, "rs_query_columns", "temp")
	_, dropErr := c.Exec(ctx, "DROP VIEW temp.rs_query_columns")
	return errors.Join(err, dropErr)
}

func (db *sqliteEngine) findColumns(ctx context.Context, c rowdb.Conn, rel *relation, name, schema string) error {
	rel.key.nul = true
	err := c.Query(ctx, `SELECT name, upper(type), "notnull" = 0 AND NOT (pk > 0 AND type = 'INTEGER' COLLATE NOCASE) FROM pragma_table_xinfo($1, $2)
		WHERE hidden <> 1 ORDER BY cid`, func(r rowdb.Row) error {
		col := column{name: rowdb.String(r, 0), is: rowdb.String(r, 1), nullable: r.Int(2) != 0}
		col.kind = affinity(col.is)
		rel.columns = append(rel.columns, col)
		return nil
	}, name, schema)
	if err != nil {
		return err
	}
	// A key without a type is what its values are.
	for i := range rel.columns {
		if k := &rel.columns[i]; k.name == rel.Key && k.kind == dynamic {
			err := c.Query(ctx, "SELECT typeof("+db.quote(k.name)+") FROM "+rel.from+" WHERE "+db.quote(k.name)+" IS NOT NULL LIMIT 1",
				func(r rowdb.Row) error { k.kind = affinity(strings.ToUpper(rowdb.String(r, 0))); return nil })
			if err != nil {
				return err
			}
			if k.kind == dynamic {
				k.is = "none, and has no values to tell"
			}
		}
	}
	return nil
}

// affinity is the kind of values that a column of a declared type prefers.
func affinity(declared string) kind {
	contains := func(s string) bool { return strings.Contains(declared, s) }
	switch {
	case contains("INT"):
		return integer
	case contains("CHAR"), contains("CLOB"), contains("TEXT"):
		return text
	case contains("BOOL"):
		return boolean
	case contains("BLOB"):
		return binary
	}
	return dynamic
}
