package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
)

var update = flag.Bool("update", false, "write the tables of docs/configuration.md")

// TestConfigurationTables: docs/configuration.md has each setting, with its variable, the
// beginning of its help, and whether a reload applies it.
func TestConfigurationTables(t *testing.T) {
	const path = "../../docs/configuration.md"
	doc := read(t, path)
	ofSite, shared := new(settings.Catalog), new(settings.Catalog)
	new(site.Config).Declare(ofSite)
	new(origin.Common).Declare(shared)
	check := func(title string, c *settings.Catalog, command string) {
		mark := "\n<!-- settings: " + title + " -->\n"
		before, rest, found := strings.Cut(doc, mark)
		table, after, more := strings.Cut(rest, "\n\n")
		if !found {
			t.Errorf("docs/configuration.md has no table for %s", title)
		}
		want := configurationTable(c, command)
		if *update {
			doc = before + mark + want + "\n"
			if more {
				doc += "\n" + after
			}
		} else if strings.TrimSpace(table) != want {
			t.Errorf("%s: the table of docs/configuration.md differs; write it with -update:\n%s", title, want)
		}
	}
	check("site", ofSite, "run")
	check("all sets", shared, "run")
	for _, k := range origin.Kinds {
		check(k.Name, k.Own(), k.Command)
		if !strings.Contains(doc, "\n### `kind: "+k.Name+"`\n") {
			t.Errorf("no section about %s", k.Name)
		}
	}
	if *update {
		write(t, path, doc)
	}
}

// configurationTable returns a table of settings in Markdown.
func configurationTable(c *settings.Catalog, command string) string {
	lines := []string{"| Setting | Variable | Meaning |", "|---|---|---|"}
	if s := c.Argument(); s != nil {
		lines = append(lines, fmt.Sprintf("| `%s` | `%s` | The argument of `resourcesync %s` |", s.Name, s.Variable(), command))
	}
	for s := range c.Flags() {
		more := ""
		if s.IsRepeated() {
			more = " (list)"
		}
		meaning := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s.Summary())
		if s.Restart {
			meaning += ". Needs a restart"
		}
		lines = append(lines, fmt.Sprintf("| `%s`%s | `%s` | %s |", s.Name, more, s.Variable(), meaning))
	}
	return strings.Join(lines, "\n")
}
