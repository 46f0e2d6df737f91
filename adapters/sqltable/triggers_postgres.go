package sqltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// PostgresTriggers returns what writes triggers for tables in the database of
// pool, PostgreSQL 14 or later. The store is the one in the schema that comes first
// in the search path of the connections; the tables can be in any.
func PostgresTriggers(ctx context.Context, pool *pgxpool.Pool) (*Triggers, error) {
	db, err := newPostgres(ctx, pool)
	if err != nil {
		return nil, err
	}
	return &Triggers{db}, nil
}

// rowFunction takes up one row. It looks at the table, and not only at what the
// row was and is: another row may have got the key in the same statement, and
// another trigger may have changed the row since. Such another row is told of again,
// because the key has been deleted at the URI that it had.
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

// truncateFunction takes up the rows of a table before they vanish. A partition
// that has no trigger of its own is taken care of with the whole table.
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

func (db *postgresEngine) create(ctx context.Context, j *journalled) ([]string, error) {
	inherits := false
	err := db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent
		WHERE i.inhparent = pg_catalog.to_regclass($1) AND c.relkind <> 'p') OR (SELECT relkind = 'm' FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1))`, j.name).Scan(&inherits)
	if err != nil {
		return nil, err
	}
	if inherits {
		return nil, errors.New("a materialized view, or a table that others inherit from, cannot be journalled as a whole: journal each table, into sets of their own")
	}
	// What a function does is parsed when it does it, and must not fail then.
	err = db.rows.Snapshot(ctx, func(c rowdb.Conn) error {
		if err := c.Script(ctx, "SET LOCAL search_path = pg_catalog, "+db.quote(j.Schema)+", pg_temp"); err != nil {
			return err
		}
		list := strings.Join(append([]string{j.key, j.uri}, j.values...), ", ")
		return c.Query(ctx, "SELECT "+list+" FROM "+j.from+where(j.filter)+" LIMIT 0", func(rowdb.Row) error { return nil })
	})
	if err != nil {
		return nil, fmt.Errorf("with only pg_catalog and the schema of the table in the search path: %w", err)
	}
	leaves, err := db.leaves(ctx, j.relation)
	if err != nil {
		return nil, err
	}
	const differs = "OLD.* OPERATOR(pg_catalog.*<>) NEW.*" // whatever the types
	var differences, columns []string
	for _, c := range j.listed {
		as := db.quote(c.name)
		if c.kind == text || c.kind == label {
			as += `::text COLLATE "C"` // equal to the byte
		}
		differences = append(differences, "OLD."+as+" IS DISTINCT FROM NEW."+as)
	}
	changed := "(" + strings.Join(differences, " OR ") + ")"
	if !j.telling {
		changed = differs
	}
	for _, c := range j.columns {
		columns = append(columns, ", "+c)
	}
	// Without a condition the row was in the set, and is.
	filter, always, worth := "true", "false", changed
	if j.filter != "" {
		filter, always = j.filter, "true"
	}
	if j.Where != "" {
		worth = differs
	}
	values := map[string]string{
		"store": db.rows.Schema(), "table": j.name, "alias": j.alias, "regclass": db.literal(j.name),
		"set": j.set, "key": j.key, "uri": j.uri, "filter": filter, "where": where(j.filter),
		"columns": strings.Join(columns, ""), "values": strings.Join(append([]string{""}, j.values...), ", "),
		"same": and(db.sameKey(j, "OLD.", "NEW."), db.sameURI(j, "OLD.", "NEW.")), "sameKey": db.sameKey(j, "OLD.", "NEW."),
		"sameOldURI": cmp.Or(db.sameURI(j, j.alias+".", "OLD."), "true"), "isOld": db.sameKey(j, j.alias+".", "OLD."), "isNew": db.sameKey(j, j.alias+".", "NEW."),
		"always": always, "changed": changed, "mark": markTemplate(j.URI),
	}
	base, truncate := db.rows.Schema()+"."+db.quote(j.base), db.rows.Schema()+"."+db.quote(j.base+"_truncate")
	statements := []string{
		db.function(base, j.Schema, fill(rowFunction, values)),
		"REVOKE ALL ON FUNCTION " + base + "() FROM PUBLIC",
		db.function(truncate, j.Schema, fill(truncateFunction, values)),
		"REVOKE ALL ON FUNCTION " + truncate + "() FROM PUBLIC",
	}
	trigger := func(name, when, on, how string) {
		statements = append(statements,
			fmt.Sprintf("CREATE OR REPLACE TRIGGER %s %s ON %s %s", db.quote(name), when, on, how),
			fmt.Sprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", on, db.quote(name)))
	}
	trigger(j.base, "AFTER INSERT OR DELETE", j.name, "FOR EACH ROW EXECUTE FUNCTION "+base+"()")
	trigger(j.base+"_update", "AFTER UPDATE", j.name, "FOR EACH ROW WHEN ("+worth+") EXECUTE FUNCTION "+base+"()")
	for _, on := range leaves {
		trigger(j.base+"_truncate", "BEFORE TRUNCATE", on, "FOR EACH STATEMENT EXECUTE FUNCTION "+truncate+"()")
	}
	return statements, nil
}

// leaves returns rel and its partitions that hold rows, qualified and quoted.
func (db *postgresEngine) leaves(ctx context.Context, rel *relation) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = pg_catalog.to_regclass($1)
			OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) WHERE isleaf)
		ORDER BY c.oid <> pg_catalog.to_regclass($1), 1`, rel.name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// sameKey is the condition that two keys are the same, with the help of an index,
// and to the byte.
func (db *postgresEngine) sameKey(j *journalled, a, b string) string {
	k := db.quote(j.Key)
	same := a + k + " = " + b + k
	if j.relation.key.kind == text {
		same += " AND " + a + k + ` COLLATE "C" = ` + b + k + ` COLLATE "C"`
	}
	return "(" + same + ")"
}

// sameURI is the condition that two URIs with the same key are the same, or "" if
// they are in any case.
func (db *postgresEngine) sameURI(j *journalled, a, b string) (condition string) {
	for _, c := range j.besideKey() {
		as := db.quote(c.name)
		if c.kind == text || c.kind == label {
			as += `::text COLLATE "C"`
		}
		condition = and(condition, a+as+" IS NOT DISTINCT FROM "+b+as)
	}
	return condition
}

func (db *postgresEngine) function(name, schema, body string) string {
	tag := "$rs$"
	for n := 1; strings.Contains(body, tag); n++ {
		tag = fmt.Sprintf("$rs%d$", n)
	}
	return fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER\nSET search_path = pg_catalog, %s, pg_temp AS %s%s%s",
		name, db.quote(schema), tag, body, tag)
}

// drop needs no more than the functions, which take their triggers with them,
// wherever these are.
func (db *postgresEngine) drop(_ context.Context, _ *relation, base string) ([]string, error) {
	store := db.rows.Schema()
	return []string{
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.quote(base)),
		fmt.Sprintf("DROP FUNCTION IF EXISTS %s.%s() CASCADE", store, db.quote(base+"_truncate")),
	}, nil
}

func (db *postgresEngine) apply(ctx context.Context, statements []string) error {
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		// PostgreSQL fails when two replace the same function at once.
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

// literal is good whatever standard_conforming_strings says.
func (*postgresEngine) literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func (db *postgresEngine) keyExpr(k *key) string {
	expr := k.ref + "::text"
	switch k.kind {
	case binary:
		return k.ref
	case integer:
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || lpad((%[1]s::numeric + 9223372036854775808)::text, %d, '0') ELSE lpad(%[1]s::text, %[2]d, '0') END", k.ref, digits)
	}
	return "convert_to(" + expr + ", 'UTF8')"
}

func (db *postgresEngine) textExpr(c *column) string {
	if c.kind == binary {
		return "convert_from(" + c.ref + ", 'UTF8')"
	}
	return c.ref + "::text"
}

// escapeExpr goes through the bytes only if there is something to escape.
func (db *postgresEngine) escapeExpr(c *column) string {
	bytes, plain := "convert_to("+c.ref+"::text, 'UTF8')", fmt.Sprintf(`%s::text COLLATE "C" ~ '^[A-Za-z0-9._~-]*$'`, c.ref)
	if c.kind == binary {
		bytes, plain = c.ref, fmt.Sprintf("encode(%s, 'escape') ~ '^[A-Za-z0-9._~-]*$'", c.ref)
	}
	text := fmt.Sprintf("encode(%s, 'escape')", bytes)
	return fmt.Sprintf(`CASE WHEN %s THEN %s ELSE (
			SELECT string_agg(CASE WHEN rs_c BETWEEN 48 AND 57 OR rs_c BETWEEN 65 AND 90 OR rs_c BETWEEN 97 AND 122 OR rs_c IN (45, 46, 95, 126)
				THEN chr(rs_c) ELSE '%%' || upper(lpad(to_hex(rs_c), 2, '0')) END, '' ORDER BY rs_i)
			FROM (SELECT rs_i, get_byte(%s, rs_i) AS rs_c FROM generate_series(0, length(%[3]s) - 1) AS rs_i) AS rs_bytes) END`, plain, text, bytes)
}

func (db *postgresEngine) microsExpr(c *column, perSecond int64) string {
	const million = 1_000_000
	switch c.kind {
	case instant, date:
		return fmt.Sprintf("CASE WHEN isfinite(%s) THEN (extract(epoch FROM %[1]s) * %d)::bigint END", c.ref, million)
	case integer:
		most := int64(9e18) / (million / perSecond)
		return fmt.Sprintf("CASE WHEN %s BETWEEN -%d AND %[2]d THEN %[1]s::bigint * %d END", c.ref, most, million/perSecond)
	}
	return "NULL::bigint"
}

func (db *postgresEngine) hexExpr(c *column) string {
	if c.kind == binary {
		return "encode(" + c.ref + ", 'hex')"
	}
	return db.lowerExpr(c)
}

func (*postgresEngine) lowerExpr(c *column) string { return "lower(" + c.ref + `::text COLLATE "C")` }
