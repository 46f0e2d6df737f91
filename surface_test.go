package resourcesync_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestSurface holds that an application can name, and `go doc` shows, everything that an
// exported declaration of a public package mentions: no type of an internal package, and
// no method that an exported type has only by embedding an unexported one.
func TestSurface(t *testing.T) {
	needs.Time(t)
	for _, pkg := range publicPackages(t) {
		s := surface{pkg: pkg, seen: map[types.Type]bool{}}
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			if obj := scope.Lookup(name); obj.Exported() {
				s.object(name, obj)
			}
		}
		for _, fault := range s.faults {
			t.Errorf("%s: %s", pkg.Path(), fault)
		}
	}
}

// publicPackages type-checks the packages of the module that another module can import, from
// the compiler's export data.
func publicPackages(t *testing.T) []*types.Package {
	t.Helper()
	packages := listPackages(t)
	imp := importerOf(token.NewFileSet(), packages)
	var all []*types.Package
	for path, p := range packages {
		if !hasPrefix(path, []string{module}) || p.Name == "main" || isInternal(path) || len(p.GoFiles) == 0 {
			continue // or it has nothing but tests
		}
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pkg)
	}
	return all
}

func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// A surface collects the faults of the exported declarations of a package.
type surface struct {
	pkg    *types.Package
	seen   map[types.Type]bool
	faults []string
}

func (s *surface) fault(where, format string, args ...any) {
	s.faults = append(s.faults, where+": "+fmt.Sprintf(format, args...))
}

func (s *surface) object(name string, obj types.Object) {
	s.mentions(name, obj.Type(), obj)
	if tn, ok := obj.(*types.TypeName); ok && !tn.IsAlias() {
		s.methods(name, tn.Type().(*types.Named))
	}
}

// methods looks at the methods of an exported type and of a pointer to it.
func (s *surface) methods(name string, named *types.Named) {
	var of types.Type = named
	if !types.IsInterface(named) {
		of = types.NewPointer(named)
	}
	set := types.NewMethodSet(of)
	for i := range set.Len() {
		sel := set.At(i)
		method := sel.Obj()
		if !method.Exported() {
			continue
		}
		where := name + "." + method.Name()
		s.mentions(where, method.Type(), nil)
		if via := hidden(named, sel.Index()); via != "" {
			s.fault(where, "is a method of the embedded %s, which is not exported; declare it", via)
		}
	}
}

// hidden returns the first unexported field on the path to a method, or "".
func hidden(named *types.Named, path []int) string {
	var at types.Type = named
	for _, i := range path[:len(path)-1] {
		if p, ok := at.Underlying().(*types.Pointer); ok {
			at = p.Elem()
		}
		f := at.Underlying().(*types.Struct).Field(i)
		if !f.Exported() {
			return f.Name()
		}
		at = f.Type()
	}
	return ""
}

// mentions looks at a type, and at what is visible inside of it. declared is the object that
// the type is of, or nil.
func (s *surface) mentions(where string, typ types.Type, declared types.Object) {
	switch typ := typ.(type) {
	case *types.Alias:
		s.name(where, typ.Obj())
		if declared == typ.Obj() {
			s.mentions(where, typ.Rhs(), nil)
		}
		s.all(where, typ.TypeArgs())
	case *types.Named:
		s.name(where, typ.Obj())
		if declared == typ.Obj() {
			s.mentions(where, typ.Underlying(), nil)
		}
		s.all(where, typ.TypeArgs())
	case *types.Pointer:
		s.mentions(where, typ.Elem(), nil)
	case *types.Slice:
		s.mentions(where, typ.Elem(), nil)
	case *types.Array:
		s.mentions(where, typ.Elem(), nil)
	case *types.Chan:
		s.mentions(where, typ.Elem(), nil)
	case *types.Map:
		s.mentions(where, typ.Key(), nil)
		s.mentions(where, typ.Elem(), nil)
	case *types.Signature:
		for v := range typ.Params().Variables() {
			s.mentions(where, v.Type(), nil)
		}
		for v := range typ.Results().Variables() {
			s.mentions(where, v.Type(), nil)
		}
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Exported() {
				s.mentions(where+"."+f.Name(), f.Type(), nil)
			}
		}
	case *types.Interface:
		for m := range typ.Methods() {
			if m.Exported() {
				s.mentions(where+"."+m.Name(), m.Type(), nil)
			} else {
				s.fault(where, "has the unexported method %s, which nobody else can implement", m.Name())
			}
		}
	}
}

func (s *surface) all(where string, list *types.TypeList) {
	for t := range list.Types() {
		s.mentions(where, t, nil)
	}
}

func (s *surface) name(where string, obj *types.TypeName) {
	switch pkg := obj.Pkg(); {
	case pkg == nil: // predeclared
	case hasPrefix(pkg.Path(), []string{module}) && isInternal(pkg.Path()):
		s.fault(where, "mentions %s.%s", strings.TrimPrefix(pkg.Path(), module+"/"), obj.Name())
	case pkg == s.pkg && !obj.Exported():
		s.fault(where, "mentions %s, which is not exported", obj.Name())
	}
}

// TestProtocols holds that what rshttp asks a Provider for is documented: it asserts no
// interface that only this module can know, neither an unexported nor an unnamed one.
func TestProtocols(t *testing.T) {
	files, err := filepath.Glob("rshttp/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	fset := token.NewFileSet()
	declared := map[string]bool{} // unexported interfaces
	asserted := map[string]token.Pos{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if _, ok := n.Type.(*ast.InterfaceType); ok && !n.Name.IsExported() {
					declared[n.Name.Name] = true
				}
			case *ast.TypeAssertExpr:
				switch to := n.Type.(type) {
				case *ast.InterfaceType:
					t.Errorf("%s: asserts an interface without a name", fset.Position(to.Pos()))
				case *ast.Ident:
					asserted[to.Name] = to.Pos()
				}
			}
			return true
		})
	}
	for name, pos := range asserted {
		if declared[name] {
			t.Errorf("%s: asserts %s, which is not exported", fset.Position(pos), name)
		}
	}
}
