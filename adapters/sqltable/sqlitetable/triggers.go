package sqlitetable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// leaveStatement journals that the row OLD has left the set. Alone it is enough if the row keeps
// its key.
const leaveStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri)
	SELECT {set}, 'deleted', {key}, {uri}
	FROM {old} WHERE {filter} AND NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isOld} AND {sameOldURI} AND {filter});`

// deleteStatement journals that the row OLD has left the set. It reads the table, as in
// PostgreSQL. If another row, at another URI, now has the key, it is journalled again.
const deleteStatement = leaveStatement + `
	INSERT INTO rs_pending (set_id, change, key, uri{columns})
	SELECT {set}, 'created', {key}, {uri}{values}
	FROM {table} AS {alias} WHERE {otherKey} AND {isOld} AND NOT ({sameOldURI}) AND {filter} AND EXISTS (SELECT 1 FROM {old} WHERE {filter});`

// putStatement journals that a row is in the set, and whether it was before.
const putStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri{columns})
	SELECT {set}, {change}, {key}, {uri}{values}
	FROM {table} AS {alias} WHERE {isNew} AND {filter}{worth};`

// rememberStatement stores the rows that a REPLACE is going to remove, because their
// DELETE triggers do not run unless recursive_triggers is on. Stored rows that still
// exist are from an earlier statement that has not removed them. The others are from a
// statement that is still running, and has fired a trigger of the host before ours.
const rememberStatement = `
	DELETE FROM {replaced} WHERE EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isReplaced} AND {filter});
	INSERT INTO {replaced} (id, key, uri) SELECT {keyRef}, {key}, {uri} FROM {table} AS {alias} WHERE {filter} AND ({conflict});`

// replacedStatement journals which of the stored rows were replaced. It runs before the
// statement for the row in their place, which may have the same URI.
const replacedStatement = `
	INSERT INTO rs_pending (set_id, change, key, uri)
	SELECT {set}, 'deleted', key, uri FROM {replaced}
	WHERE NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {isReplaced} AND {filter});
	DELETE FROM {replaced};`

func (db *database) CreateTriggers(ctx context.Context, j *engine.Journalled) ([]string, error) {
	if !strings.EqualFold(j.Schema, "main") {
		return nil, fmt.Errorf("the table is in the attached database %q: triggers reach only tables in the same file, so connect to that file", j.Schema)
	}
	if err := j.Try(ctx, db); err != nil {
		return nil, err // which CREATE TRIGGER would not notice
	}
	conflict, err := db.conflicts(ctx, j)
	if err != nil {
		return nil, err
	}
	statements := db.DropTriggers(j.Relation, j.Base)
	filter := cmp.Or(j.Filter, "1")
	sameKey := db.sameKey(j, "OLD.", "NEW.")
	same := engine.And(sameKey, db.sameURI(j, "OLD.", "NEW."))
	changed := db.changed(j)
	inSet := fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", db.old(j), filter)
	values := map[string]string{
		"table": db.Quote(j.Name), "alias": j.Alias, "set": db.setID(j), "key": j.KeyExpr, "uri": j.URIExpr, "filter": filter, "keyRef": j.Key.Ref,
		"old": db.old(j), "isOld": db.sameKey(j, j.Alias+".", "OLD."), "isNew": db.sameKey(j, j.Alias+".", "NEW."),
		"sameOldURI": cmp.Or(db.sameURI(j, j.Alias+".", "OLD."), "1"), "otherKey": "1",
		"isReplaced": engine.And(db.sameAs(j, j.Key.Ref, db.Quote(j.Base)+".id"), "("+j.URIExpr+") IS "+db.Quote(j.Base)+".uri"),
		"columns":    j.Columns, "values": j.Values,
		"replaced": db.Quote(j.Base), "conflict": conflict,
		"change": "'created'", "worth": "", "forget": "",
	}
	begin := " BEGIN\n\t" + engine.StampLine(j.Stamp)
	trigger := func(name, when, body string) {
		statements = append(statements, fmt.Sprintf("CREATE TRIGGER %s %s ON %s%s", db.Quote(j.Base+name), when, db.Quote(j.Name), engine.Fill(body, values)+"\nEND"))
	}
	replaced := ""
	if conflict != "" {
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (id %s, key BLOB NOT NULL, uri TEXT)", db.Quote(j.Base), j.Key.Type))
		trigger("_replace", "BEFORE INSERT", begin+rememberStatement)
		replaced = replacedStatement
		values["forget"] = "\n\tDELETE FROM " + db.Quote(j.Base) + " WHERE " + db.sameAs(j, "id", "OLD."+db.Quote(j.Key.Name)) + ";"
	}
	values["mark"] = j.Mark
	trigger("_insert", "AFTER INSERT", begin+"\n\t{mark}"+replaced+putStatement)
	trigger("_delete", "AFTER DELETE", begin+deleteStatement+"{forget}")
	values["otherKey"] = "NOT " + sameKey
	values["moves"] = "(" + same + ") IS NOT TRUE"
	trigger("_update_moved", "AFTER UPDATE", "\nWHEN {moves}"+begin+replaced+deleteStatement+putStatement)
	// Most updates do not change key and URI. They must cost the host as little as possible:
	// without a condition, one row is read and one is written.
	leaves := leaveStatement
	values["stays"] = same
	if j.Filter == "" {
		values["change"], leaves = "'updated'", ""
	} else {
		values["change"] = "CASE WHEN " + inSet + " THEN 'updated' ELSE 'created' END"
	}
	if j.Where == "" {
		values["stays"] = engine.And(same, changed)
	} else {
		values["worth"] = " AND (" + changed + " OR NOT " + inSet + ")"
	}
	trigger("_update", "AFTER UPDATE", "\nWHEN {stays}"+begin+replaced+leaves+putStatement)
	if conflict != "" {
		values["conflict"] = "(" + conflict + ") AND NOT " + db.sameKey(j, j.Alias+".", "OLD.")
		trigger("_update_replace", "BEFORE UPDATE", begin+rememberStatement)
		trigger("_update_replaced", "AFTER UPDATE", begin+replacedStatement)
	}
	return statements, nil
}

// setID returns the expression for the id of the set. If there is no such set, it makes
// the host's statement fail. A NULL id would not, if that statement says OR IGNORE,
// which also applies to triggers.
func (db *database) setID(j *engine.Journalled) string {
	return "coalesce((SELECT id FROM rs_set WHERE name = " + j.SetName + "), RAISE(ABORT, 'resourcesync: there is no set of this name to journal the table for'))"
}

// old returns the row OLD as a subquery in place of the table.
func (db *database) old(j *engine.Journalled) string {
	// List only the columns that are needed: SQLite refuses to drop a column that a
	// trigger names.
	var columns []string
	for i := range j.Relation.Columns {
		c := &j.Relation.Columns[i]
		if slices.ContainsFunc(j.Listed, func(l *engine.Column) bool { return l.Name == c.Name }) || j.Mentioned(c) {
			columns = append(columns, "OLD."+db.Quote(c.Name)+" AS "+db.Quote(c.Name))
		}
	}
	return "(SELECT " + strings.Join(columns, ", ") + ") AS " + j.Alias
}

// sameKey returns the condition that two keys are the same. It can use an index, and
// compares bytes.
func (db *database) sameKey(j *engine.Journalled, a, b string) string {
	return db.sameAs(j, a+db.Quote(j.Key.Name), b+db.Quote(j.Key.Name))
}

func (*database) sameAs(j *engine.Journalled, a, b string) string {
	same := a + " = " + b
	if j.Key.Kind == engine.Text {
		same += " AND " + a + " COLLATE BINARY = " + b
	}
	return "(" + same + ")"
}

// sameURI returns the condition that two URIs with the same key are the same, or "" if
// they always are.
func (db *database) sameURI(j *engine.Journalled, a, b string) (condition string) {
	for _, c := range j.Others {
		condition = engine.And(condition, a+db.Quote(c.Name)+" COLLATE BINARY IS "+b+db.Quote(c.Name))
	}
	return condition
}

// changed returns the condition that an update changes a listed column, or any column
// if the listed ones may not tell. It compares row values, because SQLite limits the
// depth of an expression.
func (db *database) changed(j *engine.Journalled) string {
	columns := j.Listed
	if !j.Content {
		columns = nil
		for i := range j.Relation.Columns {
			columns = append(columns, &j.Relation.Columns[i])
		}
	}
	var was, is []string
	for _, c := range columns {
		was = append(was, "OLD."+db.Quote(c.Name)+" COLLATE BINARY")
		is = append(is, "NEW."+db.Quote(c.Name))
	}
	return "((" + strings.Join(was, ", ") + ") IS NOT (" + strings.Join(is, ", ") + "))"
}

// conflicts returns the condition that a row conflicts with NEW. It is "" if a conflict
// is always with the row that NEW replaces in the set.
func (db *database) conflicts(ctx context.Context, j *engine.Journalled) (condition string, err error) {
	var any []string
	err = db.look(ctx, func(c rowdb.Conn) error {
		id, err := rowid(ctx, c, j.Relation)
		if err != nil {
			return err
		}
		// A row with the key of NEW is replaced at the same URI and in the set, if
		// there is no condition and no other column in the URI.
		stays := j.Filter == "" && len(j.Others) == 0
		if id != "" && (id != j.Key.Name || !stays) {
			any = append(any, j.Alias+"."+db.Quote(id)+" = NEW."+db.Quote(id))
		}
		indexes, err := indexesOf(ctx, c, j.Relation)
		for _, i := range indexes {
			onKey := len(i.columns) == 1 && i.columns[0] == j.Key.Name && i.collation[0] == "BINARY"
			if !i.unique || onKey && stays || slices.Contains(i.columns, "") {
				continue
			}
			var all []string
			for n, name := range i.columns {
				all = append(all, fmt.Sprintf("%s.%s COLLATE %s = NEW.%[2]s", j.Alias, db.Quote(name), db.Quote(i.collation[n])))
			}
			any = append(any, "("+engine.And(all...)+")")
		}
		return err
	})
	return strings.Join(any, " OR "), err
}

func (db *database) DropTriggers(_ *engine.Relation, base string) (statements []string) {
	for _, name := range []string{"_insert", "_delete", "_update", "_update_moved", "_replace", "_update_replace", "_update_replaced"} {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+db.Quote(base+name))
	}
	return append(statements, "DROP TABLE IF EXISTS "+db.Quote(base))
}

func (db *database) Apply(ctx context.Context, statements []string) error {
	return db.take(ctx, func(conn *sqlite.Conn) (err error) {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		defer end(&err)
		for _, s := range statements {
			if err := sqlitex.ExecuteTransient(conn, s, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *database) TriggersOn(ctx context.Context, rel *engine.Relation, each func(name, sql string)) error {
	return db.look(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT name, sql FROM "+db.Quote(rel.Schema)+".sqlite_schema WHERE type = 'trigger' AND tbl_name = $1 COLLATE NOCASE AND substr(name, 1, 3) = 'rs_'",
			func(r rowdb.Row) error { each(rowdb.String(r, 0), rowdb.String(r, 1)); return nil }, rel.Name)
	})
}

func (*database) Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (*database) KeyExpr(k *engine.Key) string {
	expr := k.Ref
	if k.Kind == engine.Integer {
		// The sum is in two steps, so that neither overflows.
		expr = fmt.Sprintf("CASE WHEN %s < 0 THEN '-' || printf('%%0%dd', %[1]s + 9223372036854775807 + 1) ELSE printf('%%0%[2]dd', %[1]s) END", k.Ref, engine.Digits)
	}
	return "CAST(" + expr + " AS BLOB)"
}

func (*database) TextExpr(c *engine.Column) string { return "CAST(" + c.Ref + " AS TEXT)" }

// EscapeExpr returns an expression that reads the bytes one by one only if there is
// something to escape.
func (*database) EscapeExpr(c *engine.Column) string {
	return fmt.Sprintf(`CASE WHEN CAST(%s AS TEXT) NOT GLOB '*[^A-Za-z0-9._~-]*' THEN CAST(%[1]s AS TEXT) ELSE (
		WITH RECURSIVE rs_bytes (i, done) AS (SELECT 1, '' UNION ALL
			SELECT i + 1, done || CASE WHEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) GLOB '[A-Za-z0-9._~-]'
				THEN CAST(substr(CAST(%[1]s AS BLOB), i, 1) AS TEXT) ELSE '%%' || hex(substr(CAST(%[1]s AS BLOB), i, 1)) END
			FROM rs_bytes WHERE i <= length(CAST(%[1]s AS BLOB)))
		SELECT done FROM rs_bytes ORDER BY i DESC LIMIT 1) END`, c.Ref)
}

// MicrosExpr returns an expression that reads text as the Set does. It handles the
// fraction of a second separately, because SQLite keeps only three digits of it. It is NULL
// for a number of seconds that no document can state, which may overflow.
func (*database) MicrosExpr(c *engine.Column, perSecond int64) string {
	const million = 1_000_000
	const inRange = "CASE WHEN %s BETWEEN %d AND %d THEN %[1]s * %[4]d END"
	count := func(value string) string {
		return fmt.Sprintf(inRange, value, engine.FirstTime*perSecond, (engine.LastTime+1)*perSecond-1, million/perSecond)
	}
	return fmt.Sprintf(`CASE WHEN typeof(%s) = 'integer' THEN %[2]s
		WHEN %[1]s NOT GLOB '*[^0-9]*' THEN %[4]s
		WHEN substr(%[1]s, 20, 1) = '.' THEN strftime('%%s', substr(%[1]s, 1, 19) || ltrim(substr(%[1]s, 21), '0123456789')) * %[3]d
			+ CAST(round(CAST('0.' || substr(%[1]s, 21, 6) AS REAL) * %[3]d) AS INTEGER)
		WHEN length(%[1]s) = 10 OR length(%[1]s) >= 19 THEN strftime('%%s', %[1]s) * %[3]d END`, c.Ref, count(c.Ref), million, count("CAST("+c.Ref+" AS INTEGER)"))
}

func (*database) HexExpr(c *engine.Column) string {
	return fmt.Sprintf("lower(CASE typeof(%s) WHEN 'blob' THEN hex(%[1]s) ELSE %[1]s END)", c.Ref)
}

func (*database) LowerExpr(c *engine.Column) string { return "lower(" + c.Ref + ")" }
