package sqlitetable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// Store implements [engine.JournalDB].
func (*database) Store() string { return "" }

// Signs implements [engine.JournalDB]. SQLite keeps the text of each trigger, but no number
// that changes when the same text is run again.
func (db *database) Signs(ctx context.Context, q rowdb.Querier, j *engine.Journalled) (*engine.Signs, error) {
	s := new(engine.Signs)
	err := q.Query(ctx, `SELECT type, name, sql FROM main.sqlite_schema
		WHERE type = 'trigger' AND tbl_name = $1 COLLATE NOCASE AND substr(name, 1, length($2)) = $2 OR type = 'table' AND name = $2`, func(r rowdb.Row) error {
		text := rowdb.String(r, 2)
		digest := sha256.Sum256([]byte(text))
		s.Triggers = append(s.Triggers, engine.Trigger{
			Name: rowdb.String(r, 1), State: hex.EncodeToString(digest[:12]), Stamp: engine.StampIn(text),
			Part: rowdb.String(r, 0) == "table", On: true,
		})
		return nil
	}, j.Name, j.Base)
	if err == nil {
		// REPLACE removes rows that conflict by a unique index, without a trigger for DELETE.
		err = q.Query(ctx, "SELECT name FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = $1 COLLATE NOCASE AND sql LIKE 'CREATE UNIQUE%'", func(r rowdb.Row) error {
			s.Added = append(s.Added, "unique index "+rowdb.String(r, 0))
			return nil
		}, j.Name)
	}
	if err == nil && !j.Content {
		// Any column may be the one that changes with the content.
		err = q.Query(ctx, "SELECT name FROM pragma_table_info($1, 'main')", func(r rowdb.Row) error {
			s.Added = append(s.Added, "column "+rowdb.String(r, 0))
			return nil
		}, j.Name)
	}
	if err == nil {
		s.Schema, err = rowdb.One(ctx, q, rowdb.Int, "SELECT schema_version FROM pragma_schema_version")
	}
	return s, err
}

// Update implements [engine.JournalDB].
func (db *database) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.take(ctx, func(conn *sqlite.Conn) (err error) {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		defer end(&err)
		return errors.Join(refresh(conn), f(sqlitedb.Wrap(conn)))
	})
}

// Lock implements [engine.JournalDB]. The transaction of an Update is the only one that
// writes.
func (*database) Lock(context.Context, rowdb.Conn, *engine.Relation) error { return nil }
