package resourcesync_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the packages in which one can get lost, with their files in the order in which they
// should be read: a file uses what later ones declare.
var rooms = map[string][]string{
	"cmd/resourcesync": {
		"main.go", "commands.go", "manual.go", "confirm.go", "checkconfig.go", "build.go",
		"reload.go", "run.go", "version.go", "query.go", "triggers.go", "status.go",
		"check.go", "mirroraudit.go", "mirror.go", "buildsettings.go", "follow.go", "mirrorsink.go",
		"mirrorsettings.go", "serve.go", "metrics.go", "daemon.go", "reserved.go", "folder.go",
		"ready.go", "publication.go", "upstream.go", "source.go", "state.go", "oai.go",
		"bucket.go", "table.go", "tablesettings.go", "versions.go", "health.go", "sitesettings.go",
		"callback.go", "member.go", "progress.go", "upstreamsettings.go", "statefile.go", "site.go",
		"push.go", "set.go", "requests.go", "content.go",
	},
	"rshttp": {
		"transfer.go", "counters.go", "memento.go", "mount.go", "page.go", "push.go",
		"run.go", "serve.go", "deadline.go", "errors.go", "source.go", "set.go",
		"options.go", "observe.go", "response.go",
	},
	"static": {
		"dumps.go", "store.go", "walk.go", "content.go", "writer.go", "static.go",
		"source.go", "tree.go", "record.go",
	},
	"internal/document": {
		"package.go", "digest.go", "kinds.go", "capabilitylist.go", "resourcedump.go", "description.go",
		"states.go", "changedump.go", "archive.go", "manifest.go", "changelist.go", "memento.go",
		"parts.go", "report.go", "resourcelist.go", "site.go", "routes.go", "target.go",
		"kind.go", "state.go", "record.go", "set.go",
	},
	"internal/view": {
		"pages.go", "recent.go", "channels.go", "harvest.go", "changes.go", "lists.go",
		"sets.go", "view.go",
	},
	"internal/framework": {
		"archivenews.go", "lists.go", "feed.go",
	},
}

// TestRooms holds that each room has one direction. Of the uses of package-level names of another
// file, fewer than a tenth are of an earlier file. No file has more than 300 lines.
func TestRooms(t *testing.T) {
	for dir, order := range rooms {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			place := make(map[string]int)
			for i, name := range order {
				place[name] = i
			}
			fset := token.NewFileSet()
			files := parseRoom(t, fset, dir)
			if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, slices.Sorted(slices.Values(order))) {
				t.Fatalf("rooms must state the order of these files: %q", names)
			}
			all, upwards := 0, make(map[string]int)
			for id, obj := range usesIn(t, fset, dir, files) {
				from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(obj.Pos()).Filename)
				if from == to {
					continue
				}
				all++
				if place[to] < place[from] {
					upwards[from+" uses "+obj.Name()+" of "+to]++
				}
			}
			n := 0
			for _, count := range upwards {
				n += count
			}
			t.Logf("%d files, %d uses, %d of them upwards", len(order), all, n)
			if n*10 >= all {
				t.Errorf("of %d uses, %d are upwards: %v", all, n, upwards)
			}
			for name, f := range files {
				if lines := fset.File(f.Pos()).LineCount(); lines > 301 {
					t.Errorf("%s has %d lines", name, lines)
				}
			}
		})
	}
}

// parseRoom parses the files of a package for this platform, without tests.
func parseRoom(t *testing.T, fset *token.FileSet, dir string) map[string]*ast.File {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{join .GoFiles "\n"}}`, "./"+dir).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := make(map[string]*ast.File)
	for _, name := range strings.Fields(string(out)) {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	return files
}

// usesIn returns the uses of package-level names of a package in its own files.
func usesIn(t *testing.T, fset *token.FileSet, dir string, files map[string]*ast.File) map[*ast.Ident]types.Object {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+dir).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			exports[path] = file
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := conf.Check(dir, fset, slices.Collect(maps.Values(files)), &info)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(info.Uses, func(_ *ast.Ident, obj types.Object) bool { return obj.Parent() != pkg.Scope() })
	return info.Uses
}
