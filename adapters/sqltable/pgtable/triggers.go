package pgtable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// rowFunction journals the change of one row. It reads the table, and not only OLD and
// NEW: in the same statement, another row may have taken over the key, and another
// trigger may have changed the row. A row that has taken over a key is journalled
// again, because the key has been deleted at its former URI.
const rowFunction = `
#variable_conflict use_column
{mark}
<<rs_block>>
DECLARE
	rs_was boolean := false;
BEGIN
	IF TG_OP = 'UPDATE' THEN
		rs_was := ({same}) AND EXISTS (SELECT FROM (SELECT OLD.*) AS {alias}{where});
	END IF;
	IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND ({always} OR NOT ({same})) THEN
		INSERT INTO {store}.rs_pending (set_id, change, key, uri)
		SELECT (SELECT id FROM {store}.rs_set WHERE name = {set}), 'deleted', {key}, {uri}
		FROM (SELECT OLD.*) AS {alias}
		WHERE {filter} AND NOT EXISTS (SELECT FROM {table} AS {alias} WHERE {isOld} AND {sameOldURI} AND {filter});
		IF FOUND AND (TG_OP = 'DELETE' OR NOT {sameKey}) THEN
			INSERT INTO {store}.rs_pending (set_id, change, key, uri{columns})
			SELECT (SELECT id FROM {store}.rs_set WHERE name = {set}), 'created', {key}, {uri}{values}
			FROM {table} AS {alias}
			WHERE {isOld} AND {filter};
		END IF;
	END IF;
	IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND (NOT rs_was OR {changed}) THEN
		INSERT INTO {store}.rs_pending (set_id, change, key, uri{columns})
		SELECT (SELECT id FROM {store}.rs_set WHERE name = {set}), CASE WHEN rs_block.rs_was THEN 'updated' ELSE 'created' END, {key}, {uri}{values}
		FROM {table} AS {alias}
		WHERE {isNew} AND {filter};
	END IF;
	RETURN NULL;
END
`

// truncateFunction journals the deletion of the rows of a table before TRUNCATE. For a
// partition without a trigger of its own, the trigger of the whole table does it.
const truncateFunction = `
#variable_conflict use_column
<<rs_block>>
DECLARE
	rs_table oid := TG_RELID;
	rs_trigger name := TG_NAME;
BEGIN
	INSERT INTO {store}.rs_pending (set_id, change, key, uri)
	SELECT (SELECT id FROM {store}.rs_set WHERE name = {set}), 'deleted', {key}, {uri}
	FROM {table} AS {alias}
	WHERE {filter} AND ({alias}.tableoid = rs_block.rs_table OR rs_block.rs_table = {regclass}::pg_catalog.regclass
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger AS rs_t WHERE rs_t.tgrelid = {alias}.tableoid AND rs_t.tgname = rs_block.rs_trigger));
	RETURN NULL;
END
`

func (db *database) CreateTriggers(ctx context.Context, j *engine.Journalled) ([]string, error) {
	inherits := false
	err := db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent
		WHERE i.inhparent = pg_catalog.to_regclass($1) AND c.relkind <> 'p') OR (SELECT relkind = 'm' FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1))`, j.Qualified).Scan(&inherits)
	if err != nil {
		return nil, err
	}
	if inherits {
		return nil, errors.New("a materialized view, or a table that others inherit from, cannot be journalled: journal each table, each into a set of its own")
	}
	// PostgreSQL parses the statements of a function when it runs them, and they must
	// not fail then.
	err = db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL search_path = pg_catalog, "+db.Quote(j.Schema)+", pg_temp"); err != nil {
			return err
		}
		list := strings.Join(append([]string{j.KeyExpr, j.URIExpr}, j.Values...), ", ")
		return c.Query(ctx, "SELECT "+list+" FROM "+j.From+engine.Where(j.Filter)+" LIMIT 0", func(rowdb.Row) error { return nil })
	})
	if err != nil {
		return nil, fmt.Errorf("with only pg_catalog and the schema of the table in the search path: %w", err)
	}
	leaves, err := db.leaves(ctx, j.Relation)
	if err != nil {
		return nil, err
	}
	const differs = "OLD.* OPERATOR(pg_catalog.*<>) NEW.*" // whatever the types
	var differences, columns []string
	for _, c := range j.Listed {
		as := db.Quote(c.Name)
		if c.Kind == engine.Text || c.Kind == engine.Label {
			as += `::text COLLATE "C"` // equal to the byte
		}
		differences = append(differences, "OLD."+as+" IS DISTINCT FROM NEW."+as)
	}
	changed := "(" + strings.Join(differences, " OR ") + ")"
	if !j.Content {
		changed = differs
	}
	for _, c := range j.Columns {
		columns = append(columns, ", "+c)
	}
	// Without a condition, the row was in the set and still is.
	filter, always, worth := "true", "false", changed
	if j.Filter != "" {
		filter, always = j.Filter, "true"
	}
	if j.Where != "" {
		worth = differs
	}
	values := map[string]string{
		"store": db.rows.Schema(), "table": j.Qualified, "alias": j.Alias, "regclass": db.Literal(j.Qualified),
		"set": j.SetName, "key": j.KeyExpr, "uri": j.URIExpr, "filter": filter, "where": engine.Where(j.Filter),
		"columns": strings.Join(columns, ""), "values": strings.Join(append([]string{""}, j.Values...), ", "),
		"same": engine.And(db.sameKey(j, "OLD.", "NEW."), db.sameURI(j, "OLD.", "NEW.")), "sameKey": db.sameKey(j, "OLD.", "NEW."),
		"sameOldURI": cmp.Or(db.sameURI(j, j.Alias+".", "OLD."), "true"), "isOld": db.sameKey(j, j.Alias+".", "OLD."), "isNew": db.sameKey(j, j.Alias+".", "NEW."),
		"always": always, "changed": changed, "mark": j.Mark,
	}
	base, truncate := db.rows.Schema()+"."+db.Quote(j.Base), db.rows.Schema()+"."+db.Quote(j.Base+"_truncate")
	statements := []string{
		db.function(base, j.Schema, engine.Fill(rowFunction, values)),
		"REVOKE ALL ON FUNCTION " + base + "() FROM PUBLIC",
		db.function(truncate, j.Schema, engine.Fill(truncateFunction, values)),
		"REVOKE ALL ON FUNCTION " + truncate + "() FROM PUBLIC",
	}
	trigger := func(name, when, on, how string) {
		statements = append(statements,
			fmt.Sprintf("CREATE OR REPLACE TRIGGER %s %s ON %s %s", db.Quote(name), when, on, how),
			fmt.Sprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", on, db.Quote(name)))
	}
	trigger(j.Base, "AFTER INSERT OR DELETE", j.Qualified, "FOR EACH ROW EXECUTE FUNCTION "+base+"()")
	trigger(j.Base+"_update", "AFTER UPDATE", j.Qualified, "FOR EACH ROW WHEN ("+worth+") EXECUTE FUNCTION "+base+"()")
	for _, on := range leaves {
		trigger(j.Base+"_truncate", "BEFORE TRUNCATE", on, "FOR EACH STATEMENT EXECUTE FUNCTION "+truncate+"()")
	}
	return statements, nil
}

// leaves returns rel and its partitions that hold rows, qualified and quoted.
func (db *database) leaves(ctx context.Context, rel *engine.Relation) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = pg_catalog.to_regclass($1)
			OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) WHERE isleaf)
		ORDER BY c.oid <> pg_catalog.to_regclass($1), 1`, rel.Qualified)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// sameKey returns the condition that two keys are the same. It can use an index, and
// compares bytes.
func (db *database) sameKey(j *engine.Journalled, a, b string) string {
	k := db.Quote(j.Key.Name)
	same := a + k + " = " + b + k
	if j.Key.Kind == engine.Text {
		same += " AND " + a + k + ` COLLATE "C" = ` + b + k + ` COLLATE "C"`
	}
	return "(" + same + ")"
}

// sameURI returns the condition that two URIs with the same key are the same, or "" if
// they always are.
func (db *database) sameURI(j *engine.Journalled, a, b string) (condition string) {
	for _, c := range j.Others {
		as := db.Quote(c.Name)
		if c.Kind == engine.Text || c.Kind == engine.Label {
			as += `::text COLLATE "C"`
		}
		condition = engine.And(condition, a+as+" IS NOT DISTINCT FROM "+b+as)
	}
	return condition
}

func (db *database) function(name, schema, body string) string {
	tag := "$rs$"
	for n := 1; strings.Contains(body, tag); n++ {
		tag = fmt.Sprintf("$rs%d$", n)
	}
	return fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER\nSET search_path = pg_catalog, %s, pg_temp AS %s%s%s",
		name, db.Quote(schema), tag, body, tag)
}

// DropTriggers implements [engine.TriggerDB]. Dropping the functions also drops their
// triggers, on every table.
func (db *database) DropTriggers(_ context.Context, _ *engine.Relation, base string) ([]string, error) {
	store := db.rows.Schema()
	return []string{
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.Quote(base)),
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.Quote(base+"_truncate")),
	}, nil
}

func (db *database) Apply(ctx context.Context, statements []string) error {
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		// PostgreSQL fails if two transactions replace the same function at once.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('resourcesync triggers', 0))"); err != nil {
			return err
		}
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *database) TriggersOn(ctx context.Context, rel *engine.Relation, each func(name, sql string)) error {
	rows, err := db.pool.Query(ctx, `SELECT DISTINCT p.proname, p.prosrc FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = pg_catalog.to_regclass($1) AND starts_with(p.proname, 'rs_')`, rel.Qualified)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, sql string
		if err := rows.Scan(&name, &sql); err != nil {
			return err
		}
		each(name, sql)
	}
	return rows.Err()
}
