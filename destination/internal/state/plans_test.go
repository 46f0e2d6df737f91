package state

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// small are the tables whose sizes do not grow with the lists of a Source.
var small = []string{"mirror", "sets", "moved", "pause", "placing", "package", "subscription", "json_each", "CONSTANT"}

// scans are the operations that may read a whole table, with the reasons.
var scans = map[string]string{
	"Delayed":         "the last row is enough",
	"askAgain":        "the last row is enough",
	"AskUnlisted":     "as Forget, if the changes begin after the Resource Lists",
	"DeleteSet":       "once, for a set that the Source no longer has",
	"MoveTo":          "once, for a Source that has moved",
	"Failed":          "the last row is enough",
	"Forget":          "once in each comparison of the Resource Lists of a set, which reads all entries",
	"ForgetDocuments": "as Forget",
	"Inherit":         "as Forget",
	"LastPending":     "the last row is enough",
	"Missing":         "as Forget",
	"MissingSince":    "as Forget",
	"AskMissing":      "as Forget, if resources are missing",
	"NoteMissing":     "as Forget, if resources are missing",
	"Only":            "once in each run, for a set that the Source no longer names",
	"OnlyList":        "the first row is enough",
	"PendingCount":    "once in each run, the pending changes",
	"Resumable":       "as PendingCount",
	"Unpackaged":      "once in each run for each set with a dump, the pending changes",
	"Unchanged":       "the pending changes, of which there are few when pages are not modified",
	"Totals":          "twice in each run; one that follows keeps them",
}

// sorts are the operations that may sort, with the reasons.
var sorts = map[string]string{
	"PendingDelayed": "the delayed resources whose time has come",
	"StagedOf":       "the changes of a resource, at most one of each set",
	"Compare":        "as StagedOf",
	"Staged":         "as StagedOf",
}

// TestPlans runs each statement of the package once, and reads its plan. A state has no statistics, so the
// plan is the same for any number of rows.
func TestPlans(t *testing.T) {
	conn, err := sqlite.OpenConn(filepath.Join(t.TempDir(), "state.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	r := record{statements: make(map[statement]bool), sites: make(map[string]bool)}
	s := &State{conn: conn, max: room, trace: r.note}
	defer s.Close()
	if err := errors.Join(s.prepare(source, false), s.belongs(source, false, false)); err != nil {
		t.Fatal(err)
	}
	workload(t, s)
	s.trace = nil
	r.checkSites(t)
	excused := make(map[string]bool)
	for statement := range r.statements {
		for _, step := range plan(t, s, statement.sql) {
			what, excuses := defect(step)
			if what == "" {
				continue
			}
			if excuses[statement.operation] != "" {
				excused[what+" "+statement.operation] = true
				continue
			}
			t.Errorf("%s %s: %s\n\t%s", statement.operation, what, step, strings.Join(strings.Fields(statement.sql), " "))
		}
	}
	for what, excuses := range map[string]map[string]string{"scans": scans, "sorts": sorts} {
		for operation := range excuses {
			if !excused[what+" "+operation] {
				t.Errorf("no plan of %s needs the permission for %s", operation, what)
			}
		}
	}
}

// plan returns the steps of the plan of a statement.
func plan(t *testing.T, s *State, sql string) (steps []string) {
	t.Helper()
	stmt, err := s.conn.Prepare("EXPLAIN QUERY PLAN " + sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !more {
			return steps
		}
		steps = append(steps, stmt.ColumnText(3))
	}
}

// A step that names no index reads the whole table, also if it says that it searches for the greatest value.
var whole = regexp.MustCompile(`^SCAN (\w+)|^SEARCH (\w+)$`)

// defect returns the defect of a step of a plan, or "", and the operations that may have it.
func defect(step string) (what string, excuses map[string]string) {
	switch m := whole.FindStringSubmatch(step); {
	case m != nil && !slices.Contains(small, m[1]+m[2]), strings.Contains(step, "AUTOMATIC"):
		return "scans", scans
	case strings.HasPrefix(step, "USE TEMP B-TREE"):
		return "sorts", sorts
	}
	return "", nil
}

// A statement is a statement that an operation of the package has run.
type statement struct{ operation, sql string }

// A record has the statements that have been run, and the lines of the source.
type record struct {
	statements map[statement]bool
	sites      map[string]bool
}

func (r *record) note(sql string) {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	operation := ""
	for {
		frame, more := frames.Next()
		if name := filepath.Base(frame.File); strings.Contains(frame.Function, "/internal/state.") && !strings.HasSuffix(name, "_test.go") {
			r.sites[fmt.Sprintf("%s:%d", name, frame.Line)] = true
			if m := method.FindStringSubmatch(frame.Function); m != nil {
				operation = m[1]
			}
		}
		if !more {
			break
		}
	}
	if !strings.HasPrefix(sql, "PRAGMA") { // these have no plans
		r.statements[statement{operation, sql}] = true
	}
}

// method matches the name of a method, including the method of a function literal.
var method = regexp.MustCompile(`\)\.(\w+)`)

// checkSites fails for each call that runs a statement but was never recorded.
func (r *record) checkSites(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	calls, set := 0, token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"query", "exec", "int", "pending", "staged", "members", "inheritIn", "inheritAll"}, s.Sel.Name) {
				return true
			}
			calls++
			for line := set.Position(call.Pos()).Line; line <= set.Position(call.End()).Line; line++ {
				if r.sites[fmt.Sprintf("%s:%d", name, line)] {
					return true
				}
			}
			t.Errorf("%s runs a statement that workload does not; add it there", set.Position(call.Pos()))
			return true
		})
	}
	if calls < 140 {
		t.Errorf("only %d calls that run statements are found", calls)
	}
}
