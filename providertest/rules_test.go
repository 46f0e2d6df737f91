package providertest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestBasis: each rule names a declaration of package resourcesync, so that an author of a
// provider can look it up with go doc.
func TestBasis(t *testing.T) {
	declared := map[string]bool{}
	for _, d := range contract(t).Types {
		declared[d.Name] = true
		for _, spec := range d.Decl.Specs {
			var fields *ast.FieldList
			switch typ := spec.(*ast.TypeSpec).Type.(type) {
			case *ast.StructType:
				fields = typ.Fields
			case *ast.InterfaceType:
				fields = typ.Methods
			default:
				continue
			}
			for _, f := range fields.List {
				for _, name := range f.Names {
					declared[d.Name+"."+name.Name] = true
				}
			}
		}
	}
	names := map[string]bool{}
	for _, r := range rules() {
		if !declared[r.basis] {
			t.Errorf("%s follows from %q, which is not declared", r.name, r.basis)
		}
		if names[r.name] || r.says == "" || strings.HasSuffix(r.says, ".") {
			t.Errorf("%s is there twice, or says %q", r.name, r.says)
		}
		names[r.name] = true
	}
}

// contract returns the documentation of package resourcesync.
func contract(t *testing.T) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, "github.com/resourcesync-go/resourcesync")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTry: a check that panics with anything but a failure does not count as failed.
func TestTry(t *testing.T) {
	if err := try(func() { fail("%v", "no") }); err == nil || err.Error() != "no" {
		t.Errorf("the failure is %v", err)
	}
	defer func() {
		if r := recover(); r != "defect" {
			t.Errorf("the panic is %v", r)
		}
	}()
	t.Errorf("a panic has become the error %v", try(func() { panic("defect") }))
}
