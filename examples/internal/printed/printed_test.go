// Package printed compiles the Go code in the README and the how-to.
package printed

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the path of the repository.
const root = "../../.."

// given declares what the blocks use without declaring it.
const given = `package printed

import (
	"context"
	"iter"
	"log"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

type Papers struct{}

var (
	_ resourcesync.Provider = (*Papers)(nil)
	_                       = log.Fatal
	_ sqltable.Table
	_ *hub.Hub

	ctx      context.Context
	app      *http.ServeMux
	base, id string
	pool     *pgxpool.Pool
	tx       pgx.Tx
	papers   *Papers
	content  resourcesync.Opener
	store    *sqlstore.Store
	journal  *sqlstore.Journal
	err      error
)
`

var (
	blocks   = regexp.MustCompile("(?s)```go\n(.*?)```")
	declared = regexp.MustCompile(`(?m)^([a-z]\w*), err :=`)
)

func TestPrintedGoCompiles(t *testing.T) {
	source, n := given, 0
	for _, name := range []string{"README.md", "docs/howto.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range blocks.FindAllSubmatch(text, -1) {
			n++
			source += asGo(fmt.Sprintf("block%d", n), string(found[1]))
		}
	}
	if n < 5 {
		t.Fatalf("%d blocks found", n)
	}
	if output, err := build(t, source); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// asGo returns a block as a declaration. It adds a body to a method without one, and
// turns statements into a function.
func asGo(name, block string) string {
	if strings.Contains(block, "\nfunc ") {
		return strings.TrimSuffix(block, "\n") + " { return nil }\n"
	}
	used := "\t_ = err\n"
	for _, v := range declared.FindAllStringSubmatch(block, -1) {
		used += "\t_ = " + v[1] + "\n"
	}
	return "func " + name + "() {\n" + block + used + "}\n"
}

// build compiles source as if it were a file of this package.
func build(t *testing.T, source string) ([]byte, error) {
	folder := t.TempDir()
	file, overlay := filepath.Join(folder, "printed.go"), filepath.Join(folder, "overlay.json")
	here, err := filepath.Abs("printed.go")
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{here: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(source), overlay: replace} {
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return exec.Command("go", "build", "-overlay", overlay, ".").CombinedOutput()
}
