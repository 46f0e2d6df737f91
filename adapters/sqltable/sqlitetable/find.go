package sqlitetable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func (db *database) Find(ctx context.Context, rel *engine.Relation) error {
	return db.look(ctx, func(c rowdb.Conn) error {
		encoding := ""
		err := c.Query(ctx, "PRAGMA encoding", func(r rowdb.Row) error { encoding = rowdb.String(r, 0); return nil })
		if err != nil {
			return err
		}
		if encoding != "UTF-8" {
			return fmt.Errorf("the encoding of the database is %s, in which text is ordered differently than in UTF-8: move the data to a database with UTF-8", encoding)
		}
		if rel.Query != "" {
			return db.findQuery(ctx, c, rel)
		}
		err = c.Query(ctx, `SELECT schema, name, type <> 'view' FROM pragma_table_list
			WHERE name = $1 COLLATE NOCASE AND ($2 = '' AND schema <> 'temp' OR schema = $2 COLLATE NOCASE) AND type <> 'shadow'
			ORDER BY schema <> 'main', schema LIMIT 1`, func(r rowdb.Row) error {
			rel.Schema, rel.Name, rel.IsTable = rowdb.String(r, 0), rowdb.String(r, 1), r.Int(2) != 0
			rel.Qualified = db.Quote(rel.Schema) + "." + db.Quote(rel.Name)
			return nil
		}, rel.Name, rel.Schema)
		if err == nil && rel.Qualified == "" {
			err = &engine.TableError{}
		}
		if err != nil {
			return err
		}
		rel.From = rel.Qualified + " AS " + rel.Alias
		return db.findColumns(ctx, c, rel, rel.Name, rel.Schema)
	})
}

// findQuery finds the columns of a query by means of a temporary view, which only this
// connection sees.
func (db *database) findQuery(ctx context.Context, c rowdb.Conn, rel *engine.Relation) error {
	if _, err := c.Exec(ctx, "CREATE TEMP VIEW rs_query_columns AS SELECT * FROM "+rel.From); err != nil {
		return err
	}
	err := db.findColumns(ctx, c, rel, "rs_query_columns", "temp")
	_, dropErr := c.Exec(ctx, "DROP VIEW temp.rs_query_columns")
	return errors.Join(err, dropErr)
}

func (db *database) findColumns(ctx context.Context, c rowdb.Conn, rel *engine.Relation, name, schema string) error {
	rel.Key.NUL = true
	err := c.Query(ctx, `SELECT name, upper(type), "notnull" = 0 AND NOT (pk > 0 AND type = 'INTEGER' COLLATE NOCASE) FROM pragma_table_xinfo($1, $2)
		WHERE hidden <> 1 ORDER BY cid`, func(r rowdb.Row) error {
		col := engine.Column{Name: rowdb.String(r, 0), Type: rowdb.String(r, 1), Nullable: r.Int(2) != 0}
		col.Kind = affinity(col.Type)
		rel.Columns = append(rel.Columns, col)
		return nil
	}, name, schema)
	if err != nil {
		return err
	}
	// A key without a type has the kind of its values.
	for i := range rel.Columns {
		if k := &rel.Columns[i]; k.Name == rel.Key.Name && k.Kind == engine.Dynamic {
			err := c.Query(ctx, "SELECT typeof("+db.Quote(k.Name)+") FROM "+rel.From+" WHERE "+db.Quote(k.Name)+" IS NOT NULL LIMIT 1",
				func(r rowdb.Row) error { k.Kind = affinity(strings.ToUpper(rowdb.String(r, 0))); return nil })
			if err != nil {
				return err
			}
			if k.Kind == engine.Dynamic {
				k.Type = "none, and has no values to tell"
			}
		}
	}
	return nil
}

// affinity returns the kind of value that a column of a declared type prefers.
func affinity(declared string) engine.Kind {
	contains := func(s string) bool { return strings.Contains(declared, s) }
	switch {
	case contains("INT"):
		return engine.Integer
	case contains("CHAR"), contains("CLOB"), contains("TEXT"):
		return engine.Text
	case contains("BOOL"):
		return engine.Boolean
	case contains("BLOB"):
		return engine.Binary
	}
	return engine.Dynamic
}

// An index is an index with its columns.
type index struct {
	name      string
	unique    bool
	partial   bool
	columns   []string // "" is an expression
	collation []string
}

// indexesOf returns the indexes of rel, without the rowid.
func indexesOf(ctx context.Context, c rowdb.Conn, rel *engine.Relation) ([]index, error) {
	var all []index
	err := c.Query(ctx, `SELECT l.Name, l."unique", l.partial, i.name, i.coll
		FROM pragma_index_list($1, $2) l, pragma_index_xinfo(l.Name, $2) i WHERE i.key ORDER BY l.seq, i.seqno`, func(r rowdb.Row) error {
		if name := rowdb.String(r, 0); len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, index{name: name, unique: r.Int(1) != 0, partial: r.Int(2) != 0})
		}
		last := &all[len(all)-1]
		last.columns = append(last.columns, rowdb.String(r, 3))
		last.collation = append(last.collation, rowdb.String(r, 4))
		return nil
	}, rel.Name, rel.Schema)
	return all, err
}

// rowid returns the column that is the rowid, or "".
func rowid(ctx context.Context, c rowdb.Conn, rel *engine.Relation) (name string, err error) {
	// INTEGER PRIMARY KEY has no separate index, unless it is DESC or the table is WITHOUT ROWID.
	err = c.Query(ctx, `SELECT max(name) FROM pragma_table_info($1, $2) WHERE pk > 0
		HAVING count(*) = 1 AND max(type) = 'INTEGER' COLLATE NOCASE
			AND NOT EXISTS (SELECT 1 FROM pragma_index_list($1, $2) WHERE origin = 'pk')`,
		func(r rowdb.Row) error { name = rowdb.String(r, 0); return nil }, rel.Name, rel.Schema)
	return name, err
}

func (db *database) CheckUnique(ctx context.Context, rel *engine.Relation) error {
	if !rel.IsTable {
		return nil
	}
	return db.look(ctx, func(c rowdb.Conn) error {
		if id, err := rowid(ctx, c, rel); err != nil || id == rel.Key.Name {
			return err
		}
		if rel.Key.Nullable {
			// The column must be declared NOT NULL, or be in a PRIMARY KEY. SQLite
			// allows NULL there by mistake, so the rows are checked.
			mayBeNull := false
			err := c.Query(ctx, `SELECT NOT EXISTS (SELECT 1 FROM pragma_table_info($1, $2) WHERE pk > 0 AND name = $3)
				OR EXISTS (SELECT 1 FROM `+rel.From+" WHERE "+rel.Key.Ref+" IS NULL)",
				func(r rowdb.Row) error { mayBeNull = r.Int(0) != 0; return nil }, rel.Name, rel.Schema, rel.Key.Name)
			if err != nil {
				return err
			}
			if mayBeNull {
				return engine.KeyErrorf("column %q may be NULL: declare it NOT NULL, or make a view of the rows where it is not", rel.Key.Name)
			}
		}
		indexes, err := indexesOf(ctx, c, rel)
		if err != nil {
			return err
		}
		for _, i := range indexes {
			if i.unique && !i.partial && len(i.columns) == 1 && i.columns[0] == rel.Key.Name {
				return nil
			}
		}
		return engine.KeyErrorf("column %q can have the same value in two rows: name a column whose values are unique, such as the primary key; if they are, say so to the database: CREATE UNIQUE INDEX a_name ON %s (%s COLLATE BINARY)", rel.Key.Name, db.Quote(rel.Name), db.Quote(rel.Key.Name))
	})
}

func (db *database) CheckIndex(ctx context.Context, rel *engine.Relation) error {
	if err := db.CheckUnique(ctx, rel); err != nil {
		return err
	}
	rel.Order = db.ByBytes(&rel.Key)
	sorts := false
	err := db.take(ctx, func(conn *sqlite.Conn) error {
		// This is not a cached statement of the connection, because SQLite would not
		// make its plan again.
		return errors.Join(refresh(conn), sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN SELECT "+rel.List+" FROM "+rel.From+engine.Where(rel.Filter)+" ORDER BY "+rel.Order,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				sorts = sorts || strings.Contains(stmt.ColumnText(3), "USE TEMP B-TREE FOR ORDER BY")
				return nil
			}}))
	})
	if err == nil && sorts && !rel.IsTable {
		err = rel.UnsortedError(" COLLATE BINARY")
	} else if err == nil && sorts {
		err = fmt.Errorf("the key %q has no index in the order of its bytes: CREATE UNIQUE INDEX a_name ON %s (%s COLLATE BINARY)", rel.Key.Name, db.Quote(rel.Name), db.Quote(rel.Key.Name))
	}
	return err
}
