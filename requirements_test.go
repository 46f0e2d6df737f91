package resourcesync_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`\b(?:Test|Fuzz)?((?:WP|WH|RS|V|D)[1-9][0-9]{0,2})(?:\b|_)`)
	requiredRow = regexp.MustCompile(`(?m)^\| ((?:[A-Z]+[0-9]+(?:, )?)+) \|`)
)

// stated returns the numbers that the pages state, each a row of a table.
func stated(t *testing.T, pages ...string) []string {
	t.Helper()
	var numbers []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range requiredRow.FindAllStringSubmatch(string(text), -1) {
			numbers = append(numbers, strings.Split(row[1], ", ")...)
		}
	}
	return numbers
}

// cited calls report with each number that a test cites, and its file.
func cited(t *testing.T, report func(number, file string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range requirement.FindAllSubmatch(text, -1) {
			report(string(match[1]), path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestD15_CitedRequirementsAreStated holds docs/requirements.md complete: a test
// cites no number that a reader cannot look up.
func TestD15_CitedRequirementsAreStated(t *testing.T) {
	numbers := stated(t, "docs/requirements.md", "docs/security.md")
	seen := 0
	cited(t, func(number, file string) {
		seen++
		if !slices.Contains(numbers, number) {
			t.Errorf("%s cites %s, which docs/requirements.md does not state", file, number)
		}
	})
	if seen < 200 {
		t.Errorf("found %d citations, expected more than 200", seen)
	}
}

// TestD15_DefectsAreTested: each defect has tests that are named after it.
func TestD15_DefectsAreTested(t *testing.T) {
	tested := map[string]bool{}
	cited(t, func(number, _ string) { tested[number] = true })
	for _, number := range stated(t, "docs/requirements.md") {
		if strings.HasPrefix(number, "D") && !tested[number] {
			t.Errorf("no test is named Test%s_…", number)
		}
	}
}
