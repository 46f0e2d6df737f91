package sqltable

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
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

// journalledURIs returns the URI templates of the triggers on a table, by the names
// that their objects begin with. It is "" for triggers that do not say.
func journalledURIs(ctx context.Context, db engine.DB, rel *relation) (map[string]string, error) {
	t, ok := db.(engine.TriggerDB)
	if !ok || !rel.IsTable {
		return nil, nil
	}
	templates := map[string]string{}
	err := t.TriggersOn(ctx, &rel.Relation, func(name, sql string) {
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
	case !ok || template == p.rel.table.URI:
		return "", nil
	case template == "":
		return fmt.Sprintf("sqltable: %s: triggers of an earlier version: create them again so that their URIs can be checked", p.rel.title), nil
	}
	return "", fmt.Errorf("sqltable: %s: its triggers for the set %q journal the URIs %s, but the table is opened with %s: give both the same, and create the triggers again",
		p.rel.title, named.Name(), template, p.rel.table.URI)
}
