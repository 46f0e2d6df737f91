package sqltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// SQLiteTriggers returns what writes triggers for tables in the database of pool,
// whose file is that of the store, too.
func SQLiteTriggers(pool *sqlitex.Pool) *Triggers { return &Triggers{&sqliteEngine{pool}} }

// deleteStatement journals that the row that was is not in the set any more. As in
// PostgreSQL, the table knows better than the row, and if another row has the key
// now, at another URI, that is told of again.
const deleteStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri)
	SELECT {set}, 'deleted', {key}, {uri}
	FROM {old} WHERE {filter} AND NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isOld} AND {sameOldURI} AND {filter});
	INSERT INTO rs_pending (set_id, change, key, uri{columns})
	SELECT {set}, 'created', {key}, {uri}{values}
	FROM {table} AS {alias} WHERE {otherKey} AND {isOld} AND NOT ({sameOldURI}) AND {filter} AND EXISTS (SELECT 1 FROM {old} WHERE {filter});`

// putStatement journals that a row is in the set, and was in it before or not.
const putStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri{columns})
	SELECT {set}, {change}, {key}, {uri}{values}
	FROM {table} AS {alias} WHERE {isNew} AND {filter}{worth};`

// rememberStatement notes which rows a REPLACE is going to remove, if it is one:
// their triggers for DELETE are not run then, unless recursive_triggers is on. Of
// what is noted already, that which is still there is of an earlier statement, which
// has not removed it; the rest is of one that is under way, and has set off a trigger
// of the host's own before those of ours.
const rememberStatement = `
	DELETE FROM {replaced} WHERE EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isReplaced} AND {filter});
	INSERT INTO {replaced} (id, key, uri) SELECT {keyRef}, {key}, {uri} FROM {table} AS {alias} WHERE {filter} AND ({conflict});`

// replacedStatement journals which of them have gone. It comes before what is put in
// their place, which may have their URI.
const replacedStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri)
	SELECT {set}, 'deleted', key, uri FROM {replaced}
	WHERE NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isReplaced} AND {filter});
	DELETE FROM {replaced};`

func (db *sqliteEngine) create(ctx context.Context, j *journalled) ([]string, error) {
	if !strings.EqualFold(j.Schema, "main") {
		return nil, fmt.Errorf("the table is in the attached database %q: triggers reach only tables of their own file, so connect to that one", j.Schema)
	}
	if err := j.try(ctx, db); err != nil {
		return nil, err // which CREATE TRIGGER would not notice
	}
	conflict, err := db.conflicts(ctx, j)
	if err != nil {
		return nil, err
	}
	statements, err := db.drop(ctx, j.relation, j.base)
	if err != nil {
		return nil, err
	}
	filter := "1"
	if j.filter != "" {
		filter = j.filter
	}
	sameKey := db.sameKey(j, "OLD.", "NEW.")
	same := and(sameKey, db.sameURI(j, "OLD.", "NEW."))
	changed := db.changed(j)
	was := fmt.Sprintf("(%s AND EXISTS (SELECT 1 FROM %s WHERE %s))", same, db.old(j), filter)
	values := map[string]string{
		"table": db.quote(j.Name), "alias": j.alias, "set": db.setID(j), "key": j.key, "uri": j.uri, "filter": filter, "keyRef": j.relation.key.ref,
		"old": db.old(j), "isOld": db.sameKey(j, j.alias+".", "OLD."), "isNew": db.sameKey(j, j.alias+".", "NEW."),
		"sameOldURI": cmp.Or(db.sameURI(j, j.alias+".", "OLD."), "1"), "otherKey": "1",
		"isReplaced": and(db.sameAs(j, j.relation.key.ref, db.quote(j.base)+".id"), "("+j.uri+") IS "+db.quote(j.base)+".uri"),
		"columns":    strings.Join(append([]string{""}, j.columns...), ", "), "values": strings.Join(append([]string{""}, j.values...), ", "),
		"replaced": db.quote(j.base), "conflict": conflict,
		"change": "'created'", "worth": "", "when": "", "forget": "",
	}
	trigger := func(name, when, body string) {
		statements = append(statements, fmt.Sprintf("CREATE TRIGGER %s %s ON %s%s", db.quote(j.base+name), when, db.quote(j.Name), fill(body, values)+"\nEND"))
	}
	replaced := ""
	if conflict != "" {
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (id %s, key BLOB NOT NULL, uri TEXT)", db.quote(j.base), j.relation.key.is))
		trigger("_replace", "BEFORE INSERT", " BEGIN"+rememberStatement)
		replaced = replacedStatement
		values["forget"] = "\n\tDELETE FROM " + db.quote(j.base) + " WHERE " + db.sameAs(j, "id", "OLD."+db.quote(j.Key)) + ";"
	}
	values["mark"] = markTemplate(j.URI)
	trigger("_insert", "AFTER INSERT", " BEGIN\n\t{mark}"+replaced+putStatement)
	trigger("_delete", "AFTER DELETE", " BEGIN"+deleteStatement+"{forget}")
	values["otherKey"] = "NOT " + sameKey
	values["change"] = "CASE WHEN " + was + " THEN 'updated' ELSE 'created' END"
	if j.Where == "" {
		values["when"] = "\nWHEN " + changed
	} else {
		values["worth"] = " AND (" + changed + " OR NOT " + was + ")"
	}
	trigger("_update", "AFTER UPDATE", "{when} BEGIN"+replaced+deleteStatement+putStatement)
	if conflict != "" {
		values["conflict"] = "(" + conflict + ") AND NOT " + db.sameKey(j, j.alias+".", "OLD.")
		trigger("_update_replace", "BEFORE UPDATE", " BEGIN"+rememberStatement)
		trigger("_update_replaced", "AFTER UPDATE", " BEGIN"+replacedStatement)
	}
	return statements, nil
}

// setID is the id of the set. If there is none, the host's statement fails: that the
// id must not be NULL is nothing to one that says OR IGNORE, which holds for what
// triggers do, too.
func (db *sqliteEngine) setID(j *journalled) string {
	return "coalesce((SELECT id FROM rs_set WHERE name = " + j.set + "), RAISE(ABORT, 'resourcesync: there is no set of this name to journal the table for'))"
}

// old is the row that was, as if it were the table.
func (db *sqliteEngine) old(j *journalled) string {
	// SQLite would refuse to drop any column that is named here.
	mentioned := func(c *column) bool {
		where := strings.ToLower(j.Where)
		return strings.Contains(where, strings.ToLower(c.name)) || strings.Contains(where, strings.ToLower(strings.NewReplacer(`"`, `""`).Replace(c.name))) ||
			strings.Contains(where, strings.ToLower(strings.ReplaceAll(c.name, "`", "``")))
	}
	var columns []string
	for i := range j.relation.columns {
		c := &j.relation.columns[i]
		if slices.ContainsFunc(j.listed, func(l *column) bool { return l.name == c.name }) || mentioned(c) {
			columns = append(columns, "OLD."+db.quote(c.name)+" AS "+db.quote(c.name))
		}
	}
	return "(SELECT " + strings.Join(columns, ", ") + ") AS " + j.alias
}

// sameKey is the condition that two keys are the same, with the help of an index,
// and to the byte.
func (db *sqliteEngine) sameKey(j *journalled, a, b string) string {
	return db.sameAs(j, a+db.quote(j.Key), b+db.quote(j.Key))
}

func (*sqliteEngine) sameAs(j *journalled, a, b string) string {
	same := a + " = " + b
	if j.relation.key.kind == text {
		same += " AND " + a + " COLLATE BINARY = " + b
	}
	return "(" + same + ")"
}

// sameURI is the condition that two URIs with the same key are the same, or "" if
// they are in any case.
func (db *sqliteEngine) sameURI(j *journalled, a, b string) (condition string) {
	for _, c := range j.besideKey() {
		condition = and(condition, a+db.quote(c.name)+" COLLATE BINARY IS "+b+db.quote(c.name))
	}
	return condition
}

// changed is the condition that an update changes what a resource says, or anything
// at all if that could not be told otherwise. Rows are compared as such, because
// SQLite bounds how many conditions one may be made of.
func (db *sqliteEngine) changed(j *journalled) string {
	columns := j.listed
	if !j.telling {
		columns = nil
		for i := range j.relation.columns {
			columns = append(columns, &j.relation.columns[i])
		}
	}
	var was, is []string
	for _, c := range columns {
		was = append(was, "OLD."+db.quote(c.name)+" COLLATE BINARY")
		is = append(is, "NEW."+db.quote(c.name))
	}
	return "((" + strings.Join(was, ", ") + ") IS NOT (" + strings.Join(is, ", ") + "))"
}

// conflicts is the condition that a row is in the way of NEW, or "" if that
// matters only where NEW takes its place in the set, too.
func (db *sqliteEngine) conflicts(ctx context.Context, j *journalled) (condition string, err error) {
	var any []string
	err = db.look(ctx, func(c rowdb.Conn) error {
		id, err := rowid(ctx, c, j.relation)
		if err != nil {
			return err
		}
		// The row with the key of NEW is replaced at the same URI, and in the set,
		// if these are always so.
		stays := j.filter == "" && len(j.besideKey()) == 0
		if id != "" && (id != j.Key || !stays) {
			any = append(any, j.alias+"."+db.quote(id)+" = NEW."+db.quote(id))
		}
		indexes, err := sqliteIndexes(ctx, c, j.relation)
		for _, i := range indexes {
			onKey := len(i.columns) == 1 && i.columns[0] == j.Key && i.collation[0] == "BINARY"
			if !i.unique || onKey && stays || slices.Contains(i.columns, "") {
				continue
			}
			var all []string
			for n, name := range i.columns {
				all = append(all, fmt.Sprintf("%s.%s COLLATE %s = NEW.%[2]s", j.alias, db.quote(name), db.quote(i.collation[n])))
			}
			any = append(any, "("+and(all...)+")")
		}
		return err
	})
	return strings.Join(any, " OR "), err
}

func (db *sqliteEngine) drop(_ context.Context, _ *relation, base string) ([]string, error) {
	var statements []string
	for _, name := range []string{"_insert", "_delete", "_update", "_replace", "_update_replace", "_update_replaced"} {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+db.quote(base+name))
	}
	return append(statements, "DROP TABLE IF EXISTS "+db.quote(base)), nil
}

func (db *sqliteEngine) apply(ctx context.Context, statements []string) (err error) {
	conn, err := db.pool.Take(ctx)
	if err != nil {
		return err
	}
	defer db.pool.Put(conn)
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, s := range statements {
		if err := sqlitex.ExecuteTransient(conn, s, nil); err != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}

func (*sqliteEngine) literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (*sqliteEngine) keyExpr(k *key) string {
	expr := k.ref
	if k.kind == integer {
		// The sum in two steps, neither of which overflows.
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || printf('%%0%dd', %[1]s + 9223372036854775807 + 1) ELSE printf('%%0%[2]dd', %[1]s) END", k.ref, digits)
	}
	return "CAST(" + expr + " AS BLOB)"
}

func (*sqliteEngine) textExpr(c *column) string { return "CAST(" + c.ref + " AS TEXT)" }

// escapeExpr goes through the bytes only if there is something to escape.
func (*sqliteEngine) escapeExpr(c *column) string {
	return fmt.Sprintf(`CASE WHEN CAST(%s AS TEXT) NOT GLOB '*[^A-Za-z0-9._~-]*' THEN CAST(%[1]s AS TEXT) ELSE (
		WITH RECURSIVE rs_bytes (i, done) AS (SELECT 1, '' UNION ALL
			SELECT i + 1, done || CASE WHEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) GLOB '[A-Za-z0-9._~-]'
				THEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) ELSE '%%' || hex(substr(CAST(%[1]s AS BLOB), i, 1)) END
			FROM rs_bytes WHERE i <= length(CAST(%[1]s AS BLOB)))
		SELECT done FROM rs_bytes ORDER BY i DESC LIMIT 1) END`, c.ref)
}

// microsExpr reads text as the Provider does. The fraction of a second is apart,
// because SQLite itself has three digits of it.
func (*sqliteEngine) microsExpr(c *column, perSecond int64) string {
	const million = 1_000_000
	return fmt.Sprintf(`CASE WHEN typeof(%s) = 'integer' THEN %[1]s * %d
		WHEN %[1]s NOT GLOB '*[^0-9]*' THEN CAST(%[1]s AS INTEGER) * %[2]d
		WHEN substr(%[1]s, 20, 1) = '.' THEN strftime('%%s', substr(%[1]s, 1, 19) || ltrim(substr(%[1]s, 21), '0123456789')) * %[3]d
			+ CAST(round(CAST('0.' || substr(%[1]s, 21, 6) AS REAL) * %[3]d) AS INTEGER)
		WHEN length(%[1]s) = 10 OR length(%[1]s) >= 19 THEN strftime('%%s', %[1]s) * %[3]d END`, c.ref, million/perSecond, million)
}

func (*sqliteEngine) hexExpr(c *column) string {
	return fmt.Sprintf("lower(CASE typeof(%s) WHEN 'blob' THEN hex(%[1]s) ELSE %[1]s END)", c.ref)
}

func (*sqliteEngine) lowerExpr(c *column) string { return "lower(" + c.ref + ")" }
