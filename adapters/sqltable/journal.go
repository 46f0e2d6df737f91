package sqltable

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// templateMark begins the line of a trigger that has the URI template.
const templateMark = "-- URI template: "

// markTemplate returns that line.
func markTemplate(template string) string { return templateMark + strconv.QuoteToASCII(template) }

// markedTemplate returns the URI template in the SQL of a trigger. Triggers of early
// versions have none.
func markedTemplate(sql string) (template string, ok bool) {
	_, line, found := strings.Cut(sql, templateMark)
	if !found {
		return "", false
	}
	line, _, _ = strings.Cut(line, "\n")
	template, err := strconv.Unquote(strings.TrimSpace(line))
	return template, err == nil
}

// journalledURIs returns the URI templates of the triggers on a table, by the prefix of
// their names. The template is "" for triggers without one.
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

// CheckChanger returns an error if c is a journal whose triggers write other URIs than
// the table has: Destinations would see two resources for each row, and never the
// deletion of either. It returns a warning for triggers of an early version, which do
// not have their URI template. It checks the triggers that existed when the table was
// opened. rshttp.New calls it.
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
