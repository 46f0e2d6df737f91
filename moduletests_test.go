package resourcesync_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// namedAfter matches the numbers of requirements in the name of a test.
var namedAfter = regexp.MustCompile(`((?:WP|WH|RS|CO|WS|AR|ME|V|D)[1-9][0-9]*)_`)

// goFiles returns the texts of the Go files of the module, by path.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The moduleTests are the names of all tests, and the texts in them that may name cases.
type moduleTests struct {
	names map[string]map[string]bool // by folder
	texts map[string]map[string]bool
}

func testsOfModule(t *testing.T) moduleTests {
	t.Helper()
	m := moduleTests{make(map[string]map[string]bool), make(map[string]map[string]bool)}
	for file, text := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(file)
		if m.names[dir] == nil {
			m.names[dir], m.texts[dir] = make(map[string]bool), make(map[string]bool)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
				m.names[dir][f.Name.Name] = true
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					m.texts[dir][strings.ReplaceAll(s, " ", "_")] = true
				}
			}
			return true
		})
	}
	return m
}

var (
	testName = regexp.MustCompile(`^(?:Test|Fuzz|Example)`)
	runArgs  = regexp.MustCompile(`^\./(\S+) -run (\w+)(?:/(\S+))?$|^(\.) -run (\w+)$`)
)

// run reports why "go test" with the arguments args would run nothing. They have one of three forms:
// the number of the requirement and "_", which tests are named after; a test; or a case of a test.
func (m moduleTests) run(args, number string) error {
	match := runArgs.FindStringSubmatch(args)
	if match == nil {
		return errors.New("not of the form ./PACKAGE -run TEST")
	}
	dir, pattern, part := match[1]+match[4], match[2]+match[5], match[3]
	dirs := []string{dir}
	if dir == "..." {
		dirs = nil
		for dir := range m.names {
			dirs = append(dirs, dir)
		}
	}
	expression := regexp.MustCompile(pattern)
	for _, dir := range dirs {
		for name := range m.names[dir] {
			if name != pattern && pattern != number+"_" || !expression.MatchString(name) {
				continue
			}
			if part != "" && !m.hasCase(dir, part) {
				return fmt.Errorf("no test in %s has a case %s", dir, part)
			}
			return nil
		}
	}
	return fmt.Errorf("no test of %s is named %s", dir, pattern)
}

// hasCase reports whether a text in the tests of a folder names a case. If part is the number of a
// requirement and "_", the text begins with it.
func (m moduleTests) hasCase(dir, part string) bool {
	if m.texts[dir][part] || !strings.HasSuffix(part, "_") {
		return m.texts[dir][part]
	}
	for text := range m.texts[dir] {
		if strings.HasPrefix(text, part) {
			return true
		}
	}
	return false
}
