package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/manual"
)

// TestConfigurationTables: docs/configuration.md has each setting, with its variable and
// the beginning of its help.
func TestConfigurationTables(t *testing.T) {
	doc := read(t, "../../docs/configuration.md")
	site, shared := newFlags("run"), newFlags("run")
	new(siteConfig).flags(site)
	new(setSettings).sharedFlags(shared)
	check := func(title string, flags *flag.FlagSet, command string, skip ...*flag.FlagSet) {
		want := configurationTable(t, flags, command, skip...)
		if !strings.Contains(doc, "\n"+want+"\n") {
			t.Errorf("%s: docs/configuration.md lacks this table:\n%s", title, want)
		}
	}
	check("site", site, "run")
	check("all sets", shared, "run")
	for _, k := range kinds {
		check(k.name, k.siteFlags(), k.command, site, shared)
		if !strings.Contains(doc, "\n### `kind: "+k.name+"`\n") {
			t.Errorf("no section about %s", k.name)
		}
	}
}

// configurationTable returns a table of flags that none of the others has, in Markdown.
func configurationTable(t *testing.T, flags *flag.FlagSet, command string, skip ...*flag.FlagSet) string {
	text, err := readHelp(command)
	must(t, err)
	described := make(map[string]manual.Flag)
	for _, f := range text.Flags {
		described[f.Name] = f
	}
	lines := []string{"| Setting | Variable | Meaning |", "|---|---|---|"}
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.command == command }); i >= 0 && kinds[i].argument != "" {
		name := kinds[i].argument
		lines = append(lines, fmt.Sprintf("| `%s` | `%s` | The argument of `resourcesync %s` |", name, variableOf(name), command))
	}
	flags.VisitAll(func(f *flag.Flag) {
		for _, other := range skip {
			if other.Lookup(f.Name) != nil {
				return
			}
		}
		many := ""
		if isRepeated(f.Value) {
			many = " (list)"
		}
		meaning := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(described[f.Name].Summary())
		lines = append(lines, fmt.Sprintf("| `%s`%s | `%s` | %s |", f.Name, many, variableOf(f.Name), meaning))
	})
	return strings.Join(lines, "\n")
}
