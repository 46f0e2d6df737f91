package pgtable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
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
{stamp}
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
// partition without a trigger, the trigger of the whole table does this.
const truncateFunction = `
#variable_conflict use_column
{stamp}
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
		return nil, errors.New("a materialized view, or a table that others inherit from, cannot be journalled: journal each table into its own set")
	}
	// PostgreSQL parses the statements of a function when it runs them, and they must
	// not fail then.
	err = db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL search_path = pg_catalog, "+db.Quote(j.Schema)+", pg_temp"); err != nil {
			return err
		}
		return c.Query(ctx, "SELECT "+j.KeyExpr+", "+j.URIExpr+j.Values+" FROM "+j.From+engine.Where(j.Filter)+" LIMIT 0", func(rowdb.Row) error { return nil })
	})
	if err != nil {
		return nil, fmt.Errorf("with only pg_catalog and the schema of the table in the search path: %w", err)
	}
	leaves, err := db.leaves(ctx, j.Relation)
	if err != nil {
		return nil, err
	}
	if err := db.checkLogged(ctx, j.Relation); err != nil {
		return nil, err
	}
	const differs = "OLD.* OPERATOR(pg_catalog.*<>) NEW.*" // for all types
	var differences []string
	for _, c := range j.Listed {
		differences = append(differences, "OLD."+db.bytewise(c)+" IS DISTINCT FROM NEW."+db.bytewise(c))
	}
	changed := "(" + strings.Join(differences, " OR ") + ")"
	if !j.Content {
		changed = differs
	}
	worth := changed
	if j.Where != "" {
		worth = differs
	}
	values := map[string]string{
		"store": db.rows.Schema(), "table": j.Qualified, "alias": j.Alias, "regclass": db.Literal(j.Qualified),
		"set": j.SetName, "key": j.KeyExpr, "uri": j.URIExpr, "filter": cmp.Or(j.Filter, "true"), "where": engine.Where(j.Filter),
		"columns": j.Columns, "values": j.Values,
		"same": engine.And(db.sameKey(j, "OLD.", "NEW."), db.sameURI(j, "OLD.", "NEW.")), "sameKey": db.sameKey(j, "OLD.", "NEW."),
		"sameOldURI": cmp.Or(db.sameURI(j, j.Alias+".", "OLD."), "true"), "isOld": db.sameKey(j, j.Alias+".", "OLD."), "isNew": db.sameKey(j, j.Alias+".", "NEW."),
		"changed": changed, "mark": j.Mark, "stamp": engine.StampLine(j.Stamp),
		// Without a condition, the row was in the set and still is.
		"always": strconv.FormatBool(j.Filter != ""),
	}
	call := func(function string) string { return " EXECUTE FUNCTION " + function + "(" + db.Literal(j.Stamp) + ")" }
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
	trigger(j.Base, "AFTER INSERT OR DELETE", j.Qualified, "FOR EACH ROW"+call(base))
	trigger(j.Base+"_update", "AFTER UPDATE", j.Qualified, "FOR EACH ROW WHEN ("+worth+")"+call(base))
	for _, on := range leaves {
		trigger(j.Base+"_truncate", "BEFORE TRUNCATE", on, "FOR EACH STATEMENT"+call(truncate))
	}
	return statements, nil
}

// leaves returns rel and its partitions that hold rows, qualified and quoted.
func (db *database) leaves(ctx context.Context, rel *engine.Relation) ([]string, error) {
	rows, _ := db.pool.Query(ctx, `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = pg_catalog.to_regclass($1)
			OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) WHERE isleaf)
		ORDER BY c.oid <> pg_catalog.to_regclass($1), 1`, rel.Qualified)
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// checkLogged returns an error if rel or one of its partitions is not in the write-ahead log:
// the server empties it after a crash, and no trigger runs.
func (db *database) checkLogged(ctx context.Context, rel *engine.Relation) error {
	var name string
	err := db.pool.QueryRow(ctx, `SELECT coalesce(min(quote_ident(n.nspname) || '.' || quote_ident(c.relname)), '')
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relpersistence <> 'p' AND (c.oid = pg_catalog.to_regclass($1) OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1))))`, rel.Qualified).Scan(&name)
	if err == nil && name != "" {
		err = fmt.Errorf("%s is an unlogged or temporary table: a crash of the server empties it without a trigger: ALTER TABLE %[1]s SET LOGGED, or publish it by comparison, without triggers", name)
	}
	return err
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
		condition = engine.And(condition, a+db.bytewise(c)+" IS NOT DISTINCT FROM "+b+db.bytewise(c))
	}
	return condition
}

// bytewise returns the expression that compares a column byte by byte.
func (db *database) bytewise(c *engine.Column) string {
	if c.Kind == engine.Text || c.Kind == engine.Label {
		return db.Quote(c.Name) + `::text COLLATE "C"`
	}
	return db.Quote(c.Name)
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
func (db *database) DropTriggers(_ *engine.Relation, base string) []string {
	store := db.rows.Schema()
	return []string{
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.Quote(base)),
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.Quote(base+"_truncate")),
	}
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
	rows, _ := db.pool.Query(ctx, `SELECT DISTINCT p.proname, p.prosrc FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = pg_catalog.to_regclass($1) AND starts_with(p.proname, 'rs_')`, rel.Qualified)
	var name, sql string
	_, err := pgx.ForEachRow(rows, []any{&name, &sql}, func() error { each(name, sql); return nil })
	return err
}

// Literal returns a literal that is valid with any setting of
// standard_conforming_strings.
func (*database) Literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func (db *database) KeyExpr(k *engine.Key) string {
	expr := k.Ref + "::text"
	switch k.Kind {
	case engine.Binary:
		return k.Ref
	case engine.Integer:
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || lpad((%[1]s::numeric + 9223372036854775808)::text, %d, '0') ELSE lpad(%[1]s::text, %[2]d, '0') END", k.Ref, engine.Digits)
	}
	return "convert_to(" + expr + ", 'UTF8')"
}

func (db *database) TextExpr(c *engine.Column) string {
	if c.Kind == engine.Binary {
		return "convert_from(" + c.Ref + ", 'UTF8')"
	}
	return c.Ref + "::text"
}

// EscapeExpr returns an expression that reads the bytes one by one only if there is
// something to escape.
func (db *database) EscapeExpr(c *engine.Column) string {
	bytes, plain := "convert_to("+c.Ref+"::text, 'UTF8')", fmt.Sprintf(`%s::text COLLATE "C" ~ '^[A-Za-z0-9._~-]*$'`, c.Ref)
	if c.Kind == engine.Binary {
		bytes, plain = c.Ref, fmt.Sprintf("encode(%s, 'escape') ~ '^[A-Za-z0-9._~-]*$'", c.Ref)
	}
	text := fmt.Sprintf("encode(%s, 'escape')", bytes)
	return fmt.Sprintf(`CASE WHEN %s THEN %s ELSE (
			SELECT string_agg(CASE WHEN rs_c BETWEEN 48 AND 57 OR rs_c BETWEEN 65 AND 90 OR rs_c BETWEEN 97 AND 122 OR rs_c IN (45, 46, 95, 126)
				THEN chr(rs_c) ELSE '%%' || upper(lpad(to_hex(rs_c), 2, '0')) END, '' ORDER BY rs_i)
			FROM (SELECT rs_i, get_byte(%s, rs_i) AS rs_c FROM generate_series(0, length(%[3]s) - 1) AS rs_i) AS rs_bytes) END`, plain, text, bytes)
}

// MicrosExpr returns an expression that is NULL for a time that no document can state, which
// may overflow.
func (db *database) MicrosExpr(c *engine.Column, perSecond int64) string {
	const million = 1_000_000
	switch c.Kind {
	case engine.Instant, engine.Date:
		return fmt.Sprintf("CASE WHEN extract(epoch FROM %s) BETWEEN %d AND %d.999999 THEN (extract(epoch FROM %[1]s) * %[4]d)::bigint END", c.Ref, engine.FirstTime, engine.LastTime, million)
	case engine.Integer:
		return fmt.Sprintf("CASE WHEN %s BETWEEN %d AND %d THEN %[1]s::bigint * %[4]d END", c.Ref, engine.FirstTime*perSecond, (engine.LastTime+1)*perSecond-1, million/perSecond)
	}
	return "NULL::bigint"
}

func (db *database) HexExpr(c *engine.Column) string {
	if c.Kind == engine.Binary {
		return "encode(" + c.Ref + ", 'hex')"
	}
	return db.LowerExpr(c)
}

func (*database) LowerExpr(c *engine.Column) string { return "lower(" + c.Ref + `::text COLLATE "C")` }
