package sqltable

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// templateMark begins the line of a trigger that says what URIs it journals.
const templateMark = "-- URI template: "

// markTemplate returns that line.
func markTemplate(template string) string { return templateMark + strconv.QuoteToASCII(template) }

// markedTemplate returns the URI template that the SQL of a trigger says it
// journals. Triggers of early versions do not say.
func markedTemplate(sql string) (template string, ok bool) {
	_, line, found := strings.Cut(sql, templateMark)
	if !found {
		return "", false
	}
	line, _, _ = strings.Cut(line, "\n")
	template, err := strconv.Unquote(strings.TrimSpace(line))
	return template, err == nil
}

// A triggered engine has the triggers of tables.
type triggered interface {
	// triggersOn calls each with the name and the SQL of what journals rows
	// of a table.
	triggersOn(ctx context.Context, rel *relation, each func(name, sql string)) error
}

// journalledURIs returns the URI templates of the triggers on a table, by the names
// that their objects begin with. It is "" for triggers that do not say.
func journalledURIs(ctx context.Context, db engine, rel *relation) (map[string]string, error) {
	t, ok := db.(triggered)
	if !ok || !rel.isTable {
		return nil, nil
	}
	templates := map[string]string{}
	err := t.triggersOn(ctx, rel, func(name, sql string) {
		template, _ := markedTemplate(sql)
		templates[strings.TrimSuffix(name, "_insert")] = template
	})
	return templates, err
}

// CheckChanger returns an error if c is a journal whose triggers write other URIs
// than the table has: Destinations would see two resources for each row, and the
// deletion of neither. It returns a warning if an earlier version made the triggers, which
// do not say what they write. It uses the triggers that the table had when it was opened.
// rshttp.New calls it.
func (p *Provider) CheckChanger(c resourcesync.Changer) (warning string, err error) {
	named, ok := c.(interface{ Name() string })
	if !ok {
		return "", nil
	}
	template, ok := p.journalled[baseName(p.rel, named.Name())]
	switch {
	case !ok || template == p.rel.URI:
		return "", nil
	case template == "":
		return fmt.Sprintf("sqltable: %s: triggers of an earlier version: create them again so that their URIs can be checked", p.rel.title), nil
	}
	return "", fmt.Errorf("sqltable: %s: its triggers for the set %q journal the URIs %s, but the table is opened with %s: give both the same, and create the triggers again",
		p.rel.title, named.Name(), template, p.rel.URI)
}

func (db *sqliteEngine) triggersOn(ctx context.Context, rel *relation, each func(name, sql string)) error {
	return db.look(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT name, sql FROM "+db.quote(rel.Schema)+".sqlite_schema WHERE type = 'trigger' AND tbl_name = $1 COLLATE NOCASE AND substr(name, 1, 3) = 'rs_'",
			func(r rowdb.Row) error { each(rowdb.String(r, 0), rowdb.String(r, 1)); return nil }, rel.Name)
	})
}

func (db *postgresEngine) triggersOn(ctx context.Context, rel *relation, each func(name, sql string)) error {
	rows, err := db.pool.Query(ctx, `SELECT DISTINCT p.proname, p.prosrc FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = pg_catalog.to_regclass($1) AND starts_with(p.proname, 'rs_')`, rel.name)
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
