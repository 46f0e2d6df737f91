package docs

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

// given declares what the blocks use without declaring it.
const given = `package docs

import (
	"context"
	"errors"
	"iter"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

type Papers struct{}

func (*Papers) Resources(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] { return nil }

var (
	_ = log.Fatal
	_ = os.Getpid
	_ = time.Now
	_ sqltable.Table
	_ *hub.Hub

	ctx      context.Context
	app      *http.ServeMux
	base, id string
	site     string
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
	declared = regexp.MustCompile(`(?m)^([a-z]\w*), err :=`)
	region   = regexp.MustCompile(`^(\S+\.go)(?:: (\w+))?$`)
)

// Go code in the documents is a part of a file that is compiled and tested, named in the
// comment before it (FILE: REGION, or FILE alone), or else consists of statements that compile.
func TestGo(t *testing.T) {
	source, snippets, regions := given, 0, 0
	for _, b := range blocks(t, documents(t)...) {
		if b.language != "go" {
			continue
		}
		if named := region.FindStringSubmatch(b.marker); named != nil {
			regions++
			if named[2] == "" {
				file := read(t, named[1])
				if !strings.Contains(file, b.text) && !strings.Contains(strings.ReplaceAll(file, "\n\t", "\n"), b.text) {
					t.Errorf("%s:%d: %s does not have the block", b.file, b.line, b.marker)
				}
			} else if want := regionOf(t, named[1], named[2]); b.text != want {
				t.Errorf("%s:%d: the block differs from %s, which has\n%s", b.file, b.line, b.marker, want)
			}
			continue
		}
		snippets++
		source += fmt.Sprintf("//line %s:%d\n%s", b.file, b.line-1, asFunc(fmt.Sprintf("block%d", snippets), b.text))
	}
	if snippets < 5 || regions < 5 {
		t.Fatalf("%d snippets and %d regions found", snippets, regions)
	}
	if output, err := build(t, source); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// regionOf returns the lines of a file between //docs:begin name and //docs:end, without
// their common indentation.
func regionOf(t *testing.T, file, name string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, file), "//docs:begin "+name+"\n")
	text, _, ended := strings.Cut(text, "//docs:end\n")
	if !found || !ended {
		t.Fatalf("%s has no region %s", file, name)
	}
	text = strings.Trim(strings.TrimRight(text, "\t"), "\n") + "\n"
	indent := text[:len(text)-len(strings.TrimLeft(text, "\t"))]
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n"+indent, "\n"), "\n")
}

// asFunc turns statements into a function.
func asFunc(name, block string) string {
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
