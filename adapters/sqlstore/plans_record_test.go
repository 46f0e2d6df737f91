package sqlstore

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A statement is SQL that the store has run, with the arguments of one run.
type statement struct {
	sql  string
	args []any
	site string // file:line of the call
	free bool   // outside of a transaction: PostgreSQL plans as it likes
}

// A recorder is a database that records its statements.
type recorder struct {
	rowdb.DB
	*record
}

// A record holds the statements that several stores have run.
type record struct {
	mu         sync.Mutex
	statements map[string]statement
	sites      map[string]bool
	scripts    []string // those that make temporary tables

	excused map[string]bool // those of scans that plans have needed
}

func (r *record) note(sql string, args []any, free bool) {
	site := callSite()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sites[site] = true
	if s, found := r.statements[sql]; (!found || free && !s.free) && site != "" {
		r.statements[sql] = statement{sql, args, site, free}
	}
}

// callSite returns the line of the store's own code that runs a statement, or "" if a
// test runs it.
func callSite() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasSuffix(frame.File, "plans_record_test.go") && !strings.HasSuffix(frame.File, "internal/rowdb/rowdb.go") {
			if strings.HasSuffix(frame.File, "_test.go") {
				return ""
			}
			return siteOf(frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// siteOf returns a line of the source, by the folder and the name of its file.
func siteOf(file string, line int) string {
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)
}

// A recordedTx is a transaction of the host that records the statements of Record.
type recordedTx struct {
	Tx
	*record
}

func (tx recordedTx) Exec(ctx context.Context, query string, args ...[]any) error {
	tx.note(query, args[0], false)
	return tx.Tx.Exec(ctx, query, args...)
}

func (r recorder) wrap(f func(rowdb.Conn) error) func(rowdb.Conn) error {
	return func(c rowdb.Conn) error { return f(recorded{c, r.record, false}) }
}

func (r recorder) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	r.note(sql, args, true)
	return r.DB.Query(ctx, sql, each, args...)
}

func (r recorder) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	return r.DB.Do(ctx, func(c rowdb.Conn) error { return f(recorded{c, r.record, true}) })
}

func (r recorder) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return r.DB.Snapshot(ctx, r.wrap(f))
}

func (r recorder) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return r.DB.Update(ctx, r.wrap(f))
}

func (r recorder) Write(ctx context.Context, f func(rowdb.Conn) error) error {
	return r.DB.Write(ctx, r.wrap(f))
}

func (r recorder) TryWrite(ctx context.Context, f func(rowdb.Conn) error) (bool, error) {
	return r.DB.TryWrite(ctx, r.wrap(f))
}

func (r recorder) Session(ctx context.Context, f func(rowdb.Conn) error) error {
	return r.DB.Session(ctx, r.wrap(f))
}

type recorded struct {
	rowdb.Conn
	*record
	free bool
}

func (c recorded) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	c.note(sql, args, c.free)
	return c.Conn.Query(ctx, sql, each, args...)
}

func (c recorded) QueryEach(ctx context.Context, sql string, n int, args func(int) []any, each func(int, rowdb.Row) error) error {
	if n > 0 {
		c.note(sql, args(0), c.free)
	}
	return c.Conn.QueryEach(ctx, sql, n, args, each)
}

func (c recorded) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	c.note(sql, args, c.free)
	return c.Conn.Exec(ctx, sql, args...)
}

func (c recorded) ExecEach(ctx context.Context, sql string, n int, args func(int) []any) error {
	if n > 0 {
		c.note(sql, args(0), c.free)
	}
	return c.Conn.ExecEach(ctx, sql, n, args)
}

func (c recorded) Script(ctx context.Context, sql string) error {
	if strings.HasPrefix(sql, "CREATE TEMP TABLE") {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Contains(c.scripts, sql) {
			c.scripts = append(c.scripts, sql)
		}
	}
	return c.Conn.Script(ctx, sql)
}

// checkSites fails for each call that runs a statement but was never recorded, in this
// package and in the package of the log of notifications. So every new statement must
// be run.
func checkSites(t *testing.T, recorded map[string]bool) {
	t.Helper()
	for folder, least := range map[string]int{"../sqlstore": 50, "../../internal/pushlog/sqllog": 25} {
		if calls := checkSitesIn(t, folder, recorded); calls < least {
			t.Errorf("%s: only %d calls that run statements are found", folder, calls)
		}
	}
}

func checkSitesIn(t *testing.T, folder string, recorded map[string]bool) (calls int) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, call := range statementCalls(f) {
				calls++
				first, last := set.Position(call.Pos()).Line, set.Position(call.End()).Line
				if !anyLine(recorded, name, first, last) {
					t.Errorf("%s:%d: %s runs a statement that the workload of this test does not; add it there", name, first, f.Name.Name)
				}
			}
		}
	}
	return calls
}

func statementCalls(f *ast.FuncDecl) (calls []*ast.CallExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) > 1 &&
			slices.Contains([]string{"Query", "QueryEach", "Exec", "ExecEach", "One", "All"}, s.Sel.Name) {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}

func anyLine(recorded map[string]bool, file string, first, last int) bool {
	for line := first; line <= last; line++ {
		if recorded[siteOf(file, line)] {
			return true
		}
	}
	return false
}
