package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRun begins the comment before a block that no test runs, and is followed by the reason.
const notRun = "not run: "

var (
	assignments = regexp.MustCompile(`^(?:\w+=\S* +)*`)
	isTest      = regexp.MustCompile(`^(?:Test|Benchmark)`)
	words       = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// commandLines returns the commands of a block: its lines without comments, assignments and
// continuations.
func commandLines(text string) (lines []string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		line = assignments.ReplaceAllString(strings.TrimSpace(line)+" ", "")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// programs returns the names of the programs that a block starts, each once.
func programs(text string) (names []string) {
	for _, line := range commandLines(text) {
		if name := filepath.Base(words.FindString(line)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Each block of shell commands is run by TestQuickstart, or has commands that a test
// understands, or says why it is not run.
func TestShell(t *testing.T) {
	for _, b := range blocks(t, documents(t)...) {
		if b.language != "sh" || b.file == "docs/quickstart.md" || strings.HasPrefix(b.marker, notRun) && len(b.marker) > len(notRun) {
			continue
		}
		folder := "."
		for _, line := range commandLines(b.text) {
			args := words.FindAllString(line, -1)
			switch filepath.Base(args[0]) {
			case "resourcesync": // TestPrintedCommands of cmd/resourcesync
			case "curl":
				if len(programs(b.text)) > 1 {
					t.Errorf("%s:%d: a block with curl and other programs is not run; write %q and the reason before it", b.file, b.line, notRun)
				}
			case "cd":
				folder = args[1]
			case "go":
				goCommand(t, b, folder, args[1:])
			default:
				t.Errorf("%s:%d: %s is not run; write %q and the reason before the block", b.file, b.line, args[0], notRun)
			}
		}
	}
}

// goCommand checks that a command of go names packages, tests and benchmarks that exist.
func goCommand(t *testing.T, b block, folder string, args []string) {
	t.Helper()
	var patterns []string
	var packages []string
	for i, arg := range args {
		switch {
		case i > 0 && (args[i-1] == "-run" || args[i-1] == "-bench"):
			if arg = strings.Trim(arg, "'"); arg != "^$" && arg != "-" {
				patterns = append(patterns, arg)
			}
		case arg == "." || strings.HasPrefix(arg, "./"):
			packages = append(packages, filepath.Join(folder, arg))
		}
	}
	if len(packages) == 0 {
		t.Errorf("%s:%d: go %s names no package", b.file, b.line, strings.Join(args, " "))
	}
	for _, folder := range packages {
		folder, all := strings.CutSuffix(folder, "...")
		if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
			t.Errorf("%s:%d: there is no folder %s", b.file, b.line, folder)
			continue
		}
		for _, pattern := range patterns {
			if !hasTest(t, filepath.Join(root, folder), all, regexp.MustCompile(pattern)) {
				t.Errorf("%s:%d: %s has no test or benchmark %s", b.file, b.line, folder, pattern)
			}
		}
	}
}

// hasTest reports whether the tests in a folder, or in all below it, have a function with a
// name like this.
func hasTest(t *testing.T, folder string, all bool, name *regexp.Regexp) (found bool) {
	t.Helper()
	err := filepath.WalkDir(folder, func(file string, at fs.DirEntry, err error) error {
		switch {
		case err != nil || found:
			return err
		case at.IsDir() && file != folder && (!all || strings.HasPrefix(at.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			found = found || ok && isTest.MatchString(f.Name.Name) && name.MatchString(f.Name.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
