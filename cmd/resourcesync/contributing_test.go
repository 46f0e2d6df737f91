package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWalks: the files and the declarations that the walks of CONTRIBUTING.md name exist.
func TestWalks(t *testing.T) {
	_, walks, _ := strings.Cut(read(t, "../../CONTRIBUTING.md"), "\n## Walks\n")
	walks, _, _ = strings.Cut(walks, "\n## ")
	code := read(t, "internal/origin/kinds.go") + read(t, "internal/origin/set.go") + read(t, "internal/site/settings.go") + read(t, "configtable_test.go") + read(t, "internal/settings/fault.go") + read(t, "internal/settings/settings.go") +
		read(t, "../../internal/document/kinds.go") + read(t, "../../internal/document/kind.go") + read(t, "../../internal/view/tables.go")
	n := 0
	for _, found := range regexp.MustCompile("`([^`]+)`|\\]\\(([^)]+)\\)").FindAllStringSubmatch(walks, -1) {
		name := strings.ReplaceAll(found[1]+found[2], "NAME", "oai")
		switch {
		case strings.HasPrefix(name, "go test "):
			for _, word := range []string{"func TestConfigurationTables(", `flag.Bool("update"`} {
				if !strings.Contains(name, "TestConfigurationTables -update") || !strings.Contains(code, word) {
					t.Errorf("%s does not run", name)
				}
			}
		case strings.Contains(name, "/"):
			n++
			if _, err := os.Stat("../../" + name); err != nil {
				t.Error(err)
			}
		case name == "Config", name == "Declare", name == "Check", name == "StateName", name == "Question", name == "Identity", name == "Open", name == "Kinds", name == "kinds", name == "Kind", name == "listed", name == "tableOf", name == "Group", name == "Restart":
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(code) {
				t.Errorf("no %s is declared", name)
			}
		}
	}
	if n < 10 {
		t.Errorf("the walks name %d files", n)
	}
}
