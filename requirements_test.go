package resourcesync_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

const requirementsPage = "docs/requirements.md"

// A requirement is a row of a table of docs/requirements.md.
type requirement struct {
	part    string // the heading above the table
	number  string
	section string
	side    string
	force   string
	tests   []string // arguments of go test, or a reason
	rules   []string // of package check, or a reason
}

// prefix returns the letters of a number.
func prefix(number string) string { return strings.TrimRight(number, "0123456789") }

// The reasons for which a row has no test or no rule, as the page explains them.
var reasons = []string{"other side", "not visible", "deviation"}

// reason returns the reason that a cell states instead of tests or rules, if any.
func reason(cell []string) string {
	if len(cell) == 1 && slices.Contains(reasons, cell[0]) {
		return cell[0]
	}
	return ""
}

var (
	numbered = regexp.MustCompile(`^(?:WP|WH|RS|CO|WS|AR|ME|D)[1-9][0-9]*$`)
	quoted   = regexp.MustCompile("^`([^`]+)`$")
)

// requirements returns the rows of the page.
func requirements(t *testing.T) []requirement {
	t.Helper()
	text, err := os.ReadFile(requirementsPage)
	if err != nil {
		t.Fatal(err)
	}
	var rows []requirement
	part := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			part = title
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !strings.HasPrefix(line, "| ") || !numbered.MatchString(cells[0]) {
			continue
		}
		switch {
		case prefix(cells[0]) == "D" && len(cells) == 3:
			rows = append(rows, requirement{part: part, number: cells[0], tests: list(cells[2])})
		case len(cells) == 7:
			rows = append(rows, requirement{part, cells[0], cells[1], cells[2], cells[3], list(cells[5]), list(cells[6])})
		default:
			t.Errorf("the row of %s has %d columns", cells[0], len(cells))
		}
	}
	return rows
}

// list returns the parts of a cell: code, or the cell itself.
func list(cell string) []string {
	var all []string
	for _, part := range strings.Split(cell, ", ") {
		if code := quoted.FindStringSubmatch(part); code != nil {
			part = code[1]
		}
		if part != "" {
			all = append(all, part)
		}
	}
	return all
}

// TestRequirements holds the table complete: each row has a test or a reason, and each must a rule
// of check or a reason.
func TestRequirements(t *testing.T) {
	last := make(map[string]int)
	for _, r := range requirements(t) {
		if want := fmt.Sprint(prefix(r.number), last[prefix(r.number)]+1); r.number != want {
			t.Errorf("%s comes where %s is due", r.number, want)
		}
		last[prefix(r.number)]++
		if len(r.tests) == 0 {
			t.Errorf("%s has neither a test nor a reason", r.number)
		}
		if prefix(r.number) == "D" {
			continue
		}
		if r.section == "" || !slices.Contains([]string{"Source", "Destination", "hub"}, r.side) || !slices.Contains([]string{"must", "should", "may"}, r.force) {
			t.Errorf("%s: section %q, side %q, force %q", r.number, r.section, r.side, r.force)
		}
		if r.force == "must" && len(r.rules) == 0 {
			t.Errorf("%s has neither a rule nor a reason", r.number)
		}
		if (reason(r.tests) == "other side" || reason(r.rules) == "other side") && r.side == "Source" {
			t.Errorf("%s binds a Source", r.number)
		}
	}
	for prefix, least := range map[string]int{"WP": 8, "WH": 54, "RS": 23, "D": 24} {
		if last[prefix] < least {
			t.Errorf("%d rows of %s, expected at least %d", last[prefix], prefix, least)
		}
	}
}

// TestRequirementsAreTested holds that the tests that a row names exist, so that their arguments run
// something, and that a row names each test that is named after it.
func TestRequirementsAreTested(t *testing.T) {
	tests := testsOfModule(t)
	rows := make(map[string][]string)
	for _, r := range requirements(t) {
		rows[r.number] = r.tests
		if reason(r.tests) != "" {
			continue
		}
		for _, args := range r.tests {
			if err := tests.run(args, r.number); err != nil {
				t.Errorf("%s: go test %s: %v", r.number, args, err)
			}
		}
	}
	for number, named := range tests.numbers() {
		if prefix(number) == "V" || prefix(number) == "D" && slices.Contains(rows[number], "./... -run "+number+"_") {
			continue
		}
		for dir := range named {
			if want := fmt.Sprintf("./%s -run %s_", dir, number); !slices.Contains(rows[number], want) {
				t.Errorf("tests of %s are named after %s, whose row has no %q", dir, number, want)
			}
		}
	}
	// What docs/security.md says of the attacks.
	for _, number := range stated(t, "docs/security.md") {
		if err := tests.run("./... -run "+number+"_", number); err != nil {
			t.Error(err)
		}
	}
}

// The specifications of which all sentences are rows, by the letters of their numbers, and what RS
// rows cite them by.
var traced = map[string]string{
	"CO": "Core", "WP": "WebSub", "WH": "WebSub", "WS": "Notification 0.8", "AR": "Archives", "ME": "RFC 7089",
	"CN": "Change Notification", "FN": "Framework Notification",
}

// cites reports whether a row is of a section, such as "Core 10.1".
func (r *requirement) cites(section string) bool {
	specification := traced[prefix(r.number)]
	for part := range strings.SplitSeq(r.section, ", ") {
		if short, number, found := strings.Cut(part, " "); found {
			specification, part = cmp.Or(traced[short], short), number
		}
		if specification+" "+part == section {
			return true
		}
	}
	return false
}

// TestRequirementsAreJudged holds that the rules that rows name exist, and that there is a row of the
// same force for each sentence that a rule judges: in a specification that is traced, or else the
// page says that it is not.
func TestRequirementsAreJudged(t *testing.T) {
	rules := make(map[string]check.Rule)
	for _, rule := range check.Rules() {
		rules[rule.ID] = rule
	}
	rows := requirements(t)
	for _, r := range rows {
		if reason(r.rules) != "" {
			continue
		}
		for _, id := range r.rules {
			if _, exists := rules[id]; !exists {
				t.Errorf("%s: there is no rule %s", r.number, id)
			}
		}
	}
	page, err := os.ReadFile(requirementsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, untraced, _ := strings.Cut(string(page), "## Not traced\n")
	for id, rule := range rules {
		for _, s := range rule.Sentences {
			if s.Force == check.None || strings.Contains(untraced, "| "+s.Section+" |") {
				continue
			}
			if !slices.ContainsFunc(rows, func(r requirement) bool {
				return slices.Contains(r.rules, id) && r.cites(s.Section) && r.force == string(s.Force)
			}) {
				if specification := s.Section[:max(0, strings.LastIndexByte(s.Section, ' '))]; specification == "" || !strings.Contains(untraced, "| "+specification+" |") {
					t.Errorf("the rule %s judges %s (%s), which no row with this rule and force states", id, s.Section, s.Force)
				}
			}
		}
	}
}

// TestRequirementsCounted holds the counts of the page, which are also in a golden file: a new
// reason is a change of a line there.
func TestRequirementsCounted(t *testing.T) {
	counts := make(map[string]map[string]int)
	var parts []string
	for _, r := range requirements(t) {
		c := counts[r.part]
		if c == nil {
			parts = append(parts, r.part)
			c = make(map[string]int)
			counts[r.part] = c
		}
		c["rows"]++
		c[r.force]++
		c["tests "+cmp.Or(reason(r.tests), "shown")]++
		switch why := reason(r.rules); {
		case why != "":
			c["rules "+why]++
		case len(r.rules) > 0:
			c["rules judged"]++
		}
	}
	total := make(map[string]int)
	for _, c := range counts {
		for name, n := range c {
			total[name] += n
		}
	}
	counts["Total"] = total
	columns := []string{"rows", "must", "should", "may", "tests shown", "tests other side", "tests not visible", "tests deviation",
		"rules judged", "rules other side", "rules not visible", "rules deviation"}
	var b strings.Builder
	for _, part := range append(parts, "Total") {
		fmt.Fprintf(&b, "| %s |", part)
		for _, column := range columns {
			fmt.Fprintf(&b, " %d |", counts[part][column])
		}
		b.WriteByte('\n')
	}
	for _, file := range []string{requirementsPage, "testdata/requirements.golden"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), b.String()) {
			t.Errorf("%s has other counts than\n%s", file, b.String())
		}
	}
}

var (
	citation  = regexp.MustCompile(`\b(?:Test|Fuzz)?((?:WP|WH|RS|CO|WS|AR|ME|V|D)[1-9][0-9]{0,2})(?:\b|_)`)
	statedRow = regexp.MustCompile(`(?m)^\| ((?:[A-Z]+[0-9]+(?:, )?)+) \|`)
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
		for _, row := range statedRow.FindAllStringSubmatch(string(text), -1) {
			numbers = append(numbers, strings.Split(row[1], ", ")...)
		}
	}
	return numbers
}

// TestD15_CitedRequirementsAreStated: tests and rules cite no number that a reader cannot look up.
func TestD15_CitedRequirementsAreStated(t *testing.T) {
	numbers := stated(t, requirementsPage, "docs/security.md")
	seen := 0
	for file, text := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(path.Base(file), "rules_") {
			continue
		}
		for _, match := range citation.FindAllStringSubmatch(text, -1) {
			seen++
			if !slices.Contains(numbers, match[1]) {
				t.Errorf("%s cites %s, which %s does not state", file, match[1], requirementsPage)
			}
		}
	}
	if seen < 200 {
		t.Errorf("found %d citations, expected more than 200", seen)
	}
}

// numbers returns the folders of the tests that are named after a requirement.
func (m moduleTests) numbers() map[string]map[string]bool {
	all := make(map[string]map[string]bool)
	for dir, names := range m.names {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			for _, match := range namedAfter.FindAllStringSubmatch(name, -1) {
				if all[match[1]] == nil {
					all[match[1]] = make(map[string]bool)
				}
				all[match[1]][dir] = true
			}
		}
	}
	return all
}
