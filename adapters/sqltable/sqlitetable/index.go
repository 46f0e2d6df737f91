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
			primary, null := false, false
			err := c.Query(ctx, "SELECT 1 FROM pragma_table_info($1, $2) WHERE pk > 0 AND name = $3",
				func(rowdb.Row) error { primary = true; return nil }, rel.Name, rel.Schema, rel.Key.Name)
			if err == nil {
				err = c.Query(ctx, "SELECT 1 FROM "+rel.From+" WHERE "+rel.Key.Ref+" IS NULL LIMIT 1",
					func(rowdb.Row) error { null = true; return nil })
			}
			if err != nil {
				return err
			}
			if !primary || null {
				return fmt.Errorf("the key %q may be NULL: declare it NOT NULL, or make a view of the rows where it is not", rel.Key.Name)
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
		return fmt.Errorf("the key %q need not be unique: CREATE UNIQUE INDEX a_name ON %s (%s COLLATE BINARY)", rel.Key.Name, db.Quote(rel.Name), db.Quote(rel.Key.Name))
	})
}

func (db *database) CheckIndex(ctx context.Context, rel *engine.Relation) error {
	if err := db.CheckUnique(ctx, rel); err != nil {
		return err
	}
	rel.Order += " COLLATE BINARY"
	if rel.Key.Kind == engine.Integer {
		rel.Order = rel.Key.Ref
	}
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
