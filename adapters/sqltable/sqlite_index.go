package sqltable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// sqliteIndex is an index, by its first column.
type sqliteIndex struct {
	name      string
	unique    bool
	partial   bool
	columns   []string // "" is an expression
	collation []string
}

// sqliteIndexes returns the indexes of rel. The rowid, by whatever name, is not
// among them.
func sqliteIndexes(ctx context.Context, c rowdb.Conn, rel *relation) ([]sqliteIndex, error) {
	var all []sqliteIndex
	err := c.Query(ctx, `SELECT l.name, l."unique", l.partial, i.name, i.coll
		FROM pragma_index_list($1, $2) l, pragma_index_xinfo(l.name, $2) i WHERE i.key ORDER BY l.seq, i.seqno`, func(r rowdb.Row) error {
		if name := rowdb.String(r, 0); len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, sqliteIndex{name: name, unique: r.Int(1) != 0, partial: r.Int(2) != 0})
		}
		last := &all[len(all)-1]
		last.columns = append(last.columns, rowdb.String(r, 3))
		last.collation = append(last.collation, rowdb.String(r, 4))
		return nil
	}, rel.Name, rel.Schema)
	return all, err
}

// rowid returns the column that is the rowid, or "".
func rowid(ctx context.Context, c rowdb.Conn, rel *relation) (name string, err error) {
	n := 0
	err = c.Query(ctx, `SELECT name, type = 'INTEGER' COLLATE NOCASE FROM pragma_table_info($1, $2) WHERE pk > 0`, func(r rowdb.Row) error {
		if n++; r.Int(1) != 0 {
			name = rowdb.String(r, 0)
		}
		return nil
	}, rel.Name, rel.Schema)
	if n != 1 {
		name = ""
	}
	if err == nil && name != "" {
		// INTEGER PRIMARY KEY has no index of its own, unless it is DESC or
		// the table is WITHOUT ROWID.
		err = c.Query(ctx, "SELECT 1 FROM pragma_index_list($1, $2) WHERE origin = 'pk'",
			func(rowdb.Row) error { name = ""; return nil }, rel.Name, rel.Schema)
	}
	return name, err
}

func (db *sqliteEngine) checkUnique(ctx context.Context, rel *relation) error {
	if !rel.isTable {
		return nil
	}
	return db.look(ctx, func(c rowdb.Conn) error {
		if id, err := rowid(ctx, c, rel); err != nil || id == rel.Key {
			return err
		}
		if rel.key.nullable {
			// Declared, or in a PRIMARY KEY, where SQLite allows NULL by
			// mistake and nobody uses it.
			primary, null := false, false
			err := c.Query(ctx, "SELECT 1 FROM pragma_table_info($1, $2) WHERE pk > 0 AND name = $3",
				func(rowdb.Row) error { primary = true; return nil }, rel.Name, rel.Schema, rel.Key)
			if err == nil {
				err = c.Query(ctx, "SELECT 1 FROM "+rel.from+" WHERE "+rel.key.ref+" IS NULL LIMIT 1",
					func(rowdb.Row) error { null = true; return nil })
			}
			if err != nil {
				return err
			}
			if !primary || null {
				return fmt.Errorf("the key %q may be NULL: declare it NOT NULL, or make a view of the rows where it is not", rel.Key)
			}
		}
		indexes, err := sqliteIndexes(ctx, c, rel)
		if err != nil {
			return err
		}
		for _, i := range indexes {
			if i.unique && !i.partial && len(i.columns) == 1 && i.columns[0] == rel.Key {
				return nil
			}
		}
		return fmt.Errorf("the key %q need not be unique: CREATE UNIQUE INDEX a_name ON %s (%s COLLATE BINARY)", rel.Key, db.quote(rel.Name), db.quote(rel.Key))
	})
}

func (db *sqliteEngine) checkIndex(ctx context.Context, rel *relation) error {
	if err := db.checkUnique(ctx, rel); err != nil {
		return err
	}
	rel.order += " COLLATE BINARY"
	if rel.key.kind == integer {
		rel.order = rel.key.ref
	}
	sorts := false
	err := db.take(ctx, func(conn *sqlite.Conn) error {
		// Not one of the statements that a connection keeps: a plan that was
		// made before is not made again.
		return errors.Join(refresh(conn), sqlitex.ExecuteTransient(conn, "EXPLAIN QUERY PLAN SELECT "+rel.list+" FROM "+rel.from+where(rel.filter)+" ORDER BY "+rel.order,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				sorts = sorts || strings.Contains(stmt.ColumnText(3), "USE TEMP B-TREE FOR ORDER BY")
				return nil
			}}))
	})
	if err == nil && sorts && !rel.isTable {
		err = rel.unsorted(" COLLATE BINARY")
	} else if err == nil && sorts {
		err = fmt.Errorf("no index has the key %q in the order of its bytes: CREATE UNIQUE INDEX a_name ON %s (%s COLLATE BINARY)", rel.Key, db.quote(rel.Name), db.quote(rel.Key))
	}
	return err
}
