package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWalks: the files and the declarations that the walks of CONTRIBUTING.md name exist.
func TestWalks(t *testing.T) {
	_, walks, _ := strings.Cut(read(t, "../../CONTRIBUTING.md"), "\n## Walks\n")
	walks, _, _ = strings.Cut(walks, "\n## ")
	code := read(t, "internal/origin/kinds.go") + read(t, "internal/origin/set.go") + read(t, "internal/site/settings.go") + read(t, "internal/settings/fault.go") + read(t, "internal/settings/settings.go") +
		read(t, "../../internal/document/kinds.go") + read(t, "../../internal/document/kind.go") + read(t, "../../internal/view/tables.go")
	n := 0
	for _, found := range regexp.MustCompile("`([^`]+)`|\\]\\(([^)]+)\\)").FindAllStringSubmatch(walks, -1) {
		name := strings.ReplaceAll(found[1]+found[2], "NAME", "oai")
		switch {
		case strings.Contains(name, "go test "):
			part := regexp.MustCompile(`go test \./(\S+) -run (\w+)( -update)?$`).FindStringSubmatch(name)
			if part == nil || !declares(t, "../../"+part[1], "func "+part[2]+"(") || part[3] != "" && !declares(t, "../../"+part[1], `flag.Bool("update"`) {
				t.Errorf("%s does not run", name)
			}
		case strings.Contains(name, "/"):
			n++
			file, _, _ := strings.Cut(name, "#")
			if _, err := os.Stat("../../" + file); err != nil {
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

// declares reports whether a test in a folder has a text.
func declares(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	must(t, err)
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), text) })
}
