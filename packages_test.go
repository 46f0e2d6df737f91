package resourcesync_test

import (
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// A listed package is what go list says about a package, without its tests.
type listed struct {
	ImportPath, Name string
	Export           string // the file with what the compiler exports
	GoFiles          []string
	Imports, Deps    []string
	Standard         bool
}

// goList returns the packages of the module and all that they link, by their paths. All tests use
// one list, because go list takes seconds.
var goList = sync.OnceValues(func() (map[string]listed, error) {
	c := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,GoFiles,Imports,Deps,Standard", "./...")
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	all := make(map[string]listed)
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return all, nil
})

func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	all, err := goList()
	if err != nil {
		t.Fatal(err)
	}
	if all[module+"/rshttp"].Export == "" {
		t.Fatalf("found %d packages, without rshttp", len(all))
	}
	return all
}

// importerOf imports packages from what the compiler has exported.
func importerOf(fset *token.FileSet, all map[string]listed) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) })
}
