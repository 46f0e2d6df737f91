package pgtable

import (
	"context"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// lockTimeout is the time for which Lock waits. Other writers wait behind it.
const lockTimeout = 5 * time.Second

// Store implements [engine.JournalDB].
func (db *database) Store() string { return db.rows.Schema() + "." }

// Update implements [engine.JournalDB].
func (db *database) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return db.rows.Update(ctx, f)
}

// Lock implements [engine.JournalDB]. CREATE TRIGGER takes the same lock.
func (db *database) Lock(ctx context.Context, c rowdb.Conn, rel *engine.Relation) error {
	return c.Script(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", lockTimeout.Milliseconds(), rel.Qualified))
}

// ALTER, DISABLE, ENABLE or REPLACE of a trigger or function rewrites its row of the
// catalog, so the row gets another xmin. VACUUM keeps the xmin.

// Its last column is true for the trigger of a partition if no write can have bypassed it:
// CREATE TABLE … PARTITION OF has made both at once, and nothing has replaced the file of the
// partition, as TRUNCATE would. ATTACH PARTITION rewrites the rows of the columns, so their
// xmin and cmin then differ from the values of the system columns.

const selectTriggers = `
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) || ': ' || t.tgname,
	concat_ws(' ', t.oid, t.xmin, t.tgenabled, c.oid, t.tgfoid, c.relpersistence),
	convert_from(substr(t.tgargs, 1, greatest(length(t.tgargs) - 1, 0)), 'UTF8'), t.tgparentid <> 0, t.tgenabled = 'A',
	c.relispartition AND c.relpersistence = 'p' AND c.relfilenode IN (0, c.oid) AND EXISTS (
		SELECT FROM pg_catalog.pg_attribute s JOIN pg_catalog.pg_attribute u ON u.attrelid = s.attrelid AND u.attnum > 0 AND u.xmin = s.xmin AND u.cmin = s.cmin
		WHERE s.attrelid = c.oid AND s.attnum = -1 AND s.xmin = t.xmin)
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE t.tgrelid IN (SELECT pg_catalog.to_regclass($1::text)::oid UNION ALL SELECT relid::oid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1::text)))
	AND starts_with(t.tgname, $2::text)`

const selectFunctions = `
SELECT p.proname, concat_ws(' ', p.oid, p.xmin), p.prosrc FROM pg_catalog.pg_proc p
WHERE p.proname IN ($1::text, $1::text || '_truncate') AND p.pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())`

// selectHistory has the calls of functions that the role may run in place of %s: PostgreSQL
// checks its rights even where a condition keeps a function from running.
const selectHistory = `
SELECT %s, (SELECT oid::text FROM pg_catalog.pg_database WHERE datname = current_database()),
	CASE WHEN pg_catalog.pg_is_in_recovery() THEN '' ELSE %s END,
	coalesce(pg_catalog.to_regclass($1::text)::oid::text, ''),
	concat_ws(' ', pg_catalog.to_regclass('rs_set')::oid, pg_catalog.to_regclass('rs_pending')::oid, pg_catalog.to_regclass('rs_change')::oid, pg_catalog.to_regclass('rs_cover')::oid)`

const selectRights = `
SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'),
	has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE') AND has_function_privilege('pg_catalog.pg_current_wal_insert_lsn()', 'EXECUTE')`

// historyQuery returns the statement that reads the signs of the history, as far as the role
// may see them.
func historyQuery(ctx context.Context, q rowdb.Querier) (string, error) {
	system, timeline := "''", "''"
	err := q.Query(ctx, selectRights, func(r rowdb.Row) error {
		if r.Int(0) != 0 {
			system = "(SELECT system_identifier::text FROM pg_catalog.pg_control_system())"
		}
		if r.Int(1) != 0 {
			timeline = "substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8)"
		}
		return nil
	})
	return fmt.Sprintf(selectHistory, system, timeline), err
}

// Signs implements [engine.JournalDB].
func (db *database) Signs(ctx context.Context, q rowdb.Querier, j *engine.Journalled) (*engine.Signs, error) {
	s := &engine.Signs{History: map[string]string{}}
	err := q.Query(ctx, selectTriggers, func(r rowdb.Row) error {
		s.Triggers = append(s.Triggers, engine.Trigger{
			Name: rowdb.String(r, 0), State: rowdb.String(r, 1), Stamp: rowdb.String(r, 2), Part: r.Int(3) != 0, On: r.Int(4) != 0, Born: r.Int(5) != 0,
		})
		return nil
	}, j.Qualified, j.Base)
	if err == nil {
		err = q.Query(ctx, selectFunctions, func(r rowdb.Row) error {
			s.Triggers = append(s.Triggers, engine.Trigger{
				Name: "function " + rowdb.String(r, 0), State: rowdb.String(r, 1), Stamp: engine.StampIn(rowdb.String(r, 2)), Part: true, On: true,
			})
			return nil
		}, j.Base)
	}
	if err == nil {
		var sql string
		if sql, err = historyQuery(ctx, q); err != nil {
			return nil, err
		}
		err = q.Query(ctx, sql, func(r rowdb.Row) error {
			for i, name := range []string{"system identifier", "database", engine.Timeline, engine.TableNumber, "tables of the journal"} {
				s.History[name] = rowdb.String(r, i)
			}
			return nil
		}, j.Qualified)
	}
	return s, err
}
