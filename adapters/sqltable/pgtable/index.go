package pgtable

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

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
			return fmt.Errorf("the key %q may be NULL: ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name))
		}
	}
	indexes, err := db.indexes(ctx, rel)
	if err != nil {
		return err
	}
	for _, i := range indexes {
		if i.Unique {
			return nil
		}
	}
	return fmt.Errorf("the key %q need not be unique: CREATE UNIQUE INDEX ON %s (%s%s)", rel.Key.Name, rel.Qualified, db.Quote(rel.Key.Name), byBytes(rel))
}

// byBytes returns the COLLATE clause of an index on the key in the order of bytes, ""
// unless the key is text.
func byBytes(rel *engine.Relation) string {
	if rel.Key.Kind == engine.Text {
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
	rows, err := db.pool.Query(ctx, `
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
	if err != nil {
		return nil, err
	}
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
		rel.Key.Name, indexes[0].Name, rel.Qualified, db.Quote(rel.Key.Name), byBytes(rel))
}

// checkPlan returns an error if a view or query would be sorted again for every page.
// The planner is told to avoid sorting, however small the tables are.
func (db *database) checkPlan(ctx context.Context, rel *engine.Relation) error {
	rel.Order += byBytes(rel)
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
		return rel.UnsortedError(byBytes(rel))
	}
	return nil
}
