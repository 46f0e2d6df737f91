// Package sqlitetable opens tables, views and queries of SQLite for package sqltable,
// and writes triggers for them.
//
// In the same process the host must use the copy of SQLite that this package uses:
// zombiezen.com/go/sqlite, or modernc.org/sqlite for database/sql. A driver with another
// copy, such as mattn/go-sqlite3, destroys the file; it may open the file only from
// another process.
package sqlitetable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

// Open returns the Set of a table in the database of pool, whose encoding must
// be UTF-8. If the table does not match t, or cannot be read in the order of its keys, the
// error names the cause and a remedy. If the program contains another copy of SQLite, Open
// logs a warning to slog.Default(), once per process. The caller closes the pool.
//
// Reading a page is an ordinary read transaction: in journal mode WAL, which is
// recommended, it does not block writers.
func Open(ctx context.Context, pool *sqlitex.Pool, t sqltable.Table) (*sqltable.Set, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	return seam.As[sqltable.Set](engine.Open(ctx, &database{pool: pool}, t))
}

// OpenFile returns the Set of a table in the SQLite database file at path, which must exist,
// like [Open] otherwise. Closing the Set, or the Journalled that is made of it, closes the
// database. A [sqlitestore.OpenFile] of the same path is the store for its journal. The
// application may have the file open as well, by the drivers that the package names.
//
// [sqlitestore.OpenFile]: https://pkg.go.dev/github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore#OpenFile
func OpenFile(ctx context.Context, path string, t sqltable.Table) (*sqltable.Set, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	if err := sqlitedb.CheckLinks(path); err != nil {
		return nil, fmt.Errorf("sqltable: open %s: %w", path, err)
	}
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{Flags: sqlite.OpenReadWrite, PoolSize: 4 + 2*runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, fmt.Errorf("sqltable: open %s: %w", path, err)
	}
	set, err := seam.As[sqltable.Set](engine.Open(ctx, &database{pool: pool, own: true}, t))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return set, nil
}

// List returns the Listing of a table, view or query in the database of pool, for a
// comparison with a stored set. It serves keys in any collation and views without an index.
// o may be nil. The caller closes the pool.
func List(ctx context.Context, pool *sqlitex.Pool, t sqltable.Table, o *sqltable.ListingOptions) (*sqltable.Listing, error) {
	sqlitedb.WarnOfCopies(slog.Default())
	return seam.As[sqltable.Listing](engine.List(ctx, &database{pool: pool}, t, o))
}

// Triggers returns a writer of triggers for tables in the database of pool. Its file
// must be that of the store as well.
func Triggers(pool *sqlitex.Pool) *sqltable.Triggers {
	return engine.Triggers(&database{pool: pool}).(*sqltable.Triggers)
}

type database struct {
	pool *sqlitex.Pool
	own  bool // the Set closes the pool
}

// Close implements [engine.Closer].
func (db *database) Close() error {
	if !db.own {
		return nil
	}
	return db.pool.Close()
}

func (*database) Quote(name string) string {
	// In double quotes, SQLite would take the name of a missing column for text.
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (*database) Parameter(n int, _ engine.Kind) string { return "$" + strconv.Itoa(n) }

func (db *database) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.take(ctx, func(conn *sqlite.Conn) error { return sqlitedb.Wrap(conn).Query(ctx, sql, each, args...) })
}

// QueryInOrder reads a page. It empties the cache of the connection, which the next page does
// not need. The pool hands out its connections in turn, so that each would fill its cache.
func (db *database) QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.take(ctx, func(conn *sqlite.Conn) error {
		c := sqlitedb.Wrap(conn)
		err := c.Query(ctx, sql, each, args...)
		_ = c.Script(ctx, "PRAGMA shrink_memory")
		return err
	})
}

func (db *database) take(ctx context.Context, f func(*sqlite.Conn) error) error {
	conn, err := db.pool.Take(ctx)
	if err == nil {
		defer db.pool.Put(conn)
		err = f(conn)
	}
	return rowdb.ContextError(ctx, err) // the connection may have been interrupted
}

// look is take for statements about the schema.
func (db *database) look(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(conn *sqlite.Conn) error {
		return errors.Join(refresh(conn), f(sqlitedb.Wrap(conn)))
	})
}

// refresh reads a table, because SQLite notices only then that another connection has
// changed the schema.
func refresh(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", nil)
}

func (*database) ByBytes(k *engine.Key) string {
	if k.Kind == engine.Integer {
		return k.Ref
	}
	return k.Ref + " COLLATE BINARY"
}

func (*database) Fits(k *engine.Key, most int) string {
	if k.Kind == engine.Text || k.Kind == engine.Binary {
		return fmt.Sprintf("length(CAST(%s AS BLOB)) <= %d", k.Ref, most)
	}
	return ""
}

// LengthRef implements [engine.DB]. Any column of SQLite can hold text, which would be read as 0.
func (*database) LengthRef(c *engine.Column) string {
	return fmt.Sprintf(`CASE WHEN %s IS NULL OR typeof(%[1]s) = 'integer' THEN %[1]s
		WHEN typeof(%[1]s) = 'real' AND %[1]s = CAST(%[1]s AS INTEGER) OR typeof(%[1]s) = 'text' AND %[1]s <> '' AND %[1]s NOT GLOB '*[^0-9]*'
			THEN CAST(%[1]s AS INTEGER) ELSE %d END`, c.Ref, int64(math.MaxInt64))
}

func (*database) IsLive(c *engine.Column) string {
	return fmt.Sprintf("(%s IS NULL OR %[1]s = 0 OR %[1]s = '')", c.Ref)
}

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
			err = errors.New("there is no such table or view")
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
	// The kind of a key without a type is that of its values.
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
	// INTEGER PRIMARY KEY has no index of its own, unless it is DESC or the table is
	// WITHOUT ROWID.
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
