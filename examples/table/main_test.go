package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// example returns the example over a database file of this test.
func example(t *testing.T) tour.Run {
	file := filepath.Join(t.TempDir(), "papers.db")
	return func(ctx context.Context, ln net.Listener, own *hub.Options) error { return run(ctx, ln, file, own) }
}

func TestTour(t *testing.T) { example(t).Take(t) }

func TestRefusals(t *testing.T) { example(t).Refuse(t) }

// TestStaysSmall limits the example to the size that an application with a table, a
// journal, a hub and dumps may need: 40 lines, and 8 names of this module.
func TestStaysSmall(t *testing.T) {
	const module = `"github.com/resourcesync-go/resourcesync`
	var names []string
	for _, file := range []string{"main.go", "app.go"} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]bool{}
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, module) {
				ours[strings.Trim(i.Path.Value[strings.LastIndex(i.Path.Value, "/")+1:], `"`)] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := s.X.(*ast.Ident); ok && ours[pkg.Name] && !slices.Contains(names, pkg.Name+"."+s.Sel.Name) {
					names = append(names, pkg.Name+"."+s.Sel.Name)
				}
			}
			return true
		})
	}
	if len(names) < 5 || len(names) > 8 {
		t.Errorf("%d names: %q", len(names), names)
	}
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(text), "\nfunc main() {")
	lines := 1
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	if !found || lines > 40 {
		t.Errorf("%d lines", lines)
	}
}
