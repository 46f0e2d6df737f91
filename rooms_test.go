package resourcesync_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// rooms are the packages in which one can get lost, with their files in the order in which they
// should be read: a file uses what later ones declare.
var rooms = map[string][]string{
	"cmd/resourcesync": {
		"manual.go", "main.go", "commands.go", "status.go", "check.go", "triggers.go", "mirror.go", "version.go",
		"checkconfig.go", "confirm.go", "build.go", "run.go", "arguments.go",
	},
	"cmd/resourcesync/internal/mirror": {
		"follow.go", "audit.go", "status.go", "sink.go", "metrics.go", "mirror.go", "settings.go",
	},
	"cmd/resourcesync/internal/daemon": {
		"ready.go", "status.go", "health.go", "publish.go", "release.go", "metrics.go", "reserved.go", "reload.go",
		"publication.go", "member.go", "progress.go", "harvesters.go", "daemon.go",
	},
	"cmd/resourcesync/internal/site": {
		"existing.go", "state.go", "file.go", "settings.go", "effective.go", "here.go", "site.go", "push.go",
	},
	"cmd/resourcesync/internal/origin": {
		"robots.go", "versions.go", "kinds.go", "bucket.go", "oai.go", "folder.go", "table.go", "source.go",
		"upstream.go", "upstreamsettings.go", "content.go", "set.go", "about.go", "browsed.go", "exclude.go",
	},
	"rshttp": {
		"package.go", "counters.go", "memento.go", "mount.go", "page.go", "push.go",
		"run.go", "serve.go", "deadline.go", "errors.go", "source.go", "set.go",
		"options.go", "observe.go", "response.go",
	},
	"static": {
		"publication.go", "archives.go", "dumps.go", "changes.go", "store.go", "walk.go", "content.go", "session.go", "skip.go", "writer.go", "static.go",
		"source.go", "tree.go", "record.go", "files.go",
	},
	"internal/document": {
		"package.go", "digest.go", "kinds.go", "capabilitylist.go", "resourcedump.go", "description.go",
		"states.go", "changedump.go", "archive.go", "manifest.go", "changelist.go", "memento.go",
		"window.go", "parts.go", "report.go", "resourcelist.go", "site.go", "routes.go", "target.go",
		"kind.go", "state.go", "record.go", "set.go", "about.go",
	},
	"internal/view": {
		"pages.go", "recent.go", "channels.go", "harvest.go", "list.go", "tables.go", "search.go",
		"sets.go", "facts.go", "view.go",
	},
	"internal/framework": {
		"archivenews.go", "lists.go", "watch.go", "feed.go",
	},
}

// TestRooms holds that each room has one direction. Of the uses of package-level names of another
// file, fewer than a tenth are of an earlier file. No file has more than 300 lines.
func TestRooms(t *testing.T) {
	fset := token.NewFileSet()
	all := listPackages(t)
	imp := importerOf(fset, all)
	for dir, order := range rooms {
		t.Run(dir, func(t *testing.T) {
			place := make(map[string]int)
			for i, name := range order {
				place[name] = i
			}
			files := parseRoom(t, fset, dir, all[module+"/"+dir].GoFiles)
			if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, slices.Sorted(slices.Values(order))) {
				t.Fatalf("rooms must state the order of these files: %q", names)
			}
			uses, upwards := 0, make(map[string]int)
			for id, obj := range usesIn(t, fset, imp, dir, files) {
				from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(obj.Pos()).Filename)
				if from == to {
					continue
				}
				uses++
				if place[to] < place[from] {
					upwards[from+" uses "+obj.Name()+" of "+to]++
				}
			}
			n := 0
			for _, count := range upwards {
				n += count
			}
			t.Logf("%d files, %d uses, %d of them upwards", len(order), uses, n)
			if n*10 >= uses {
				t.Errorf("of %d uses, %d are upwards: %v", uses, n, upwards)
			}
			for name, f := range files {
				if lines := fset.File(f.Pos()).LineCount(); lines > 301 {
					t.Errorf("%s has %d lines", name, lines)
				}
			}
		})
	}
}

// parseRoom parses the files of a room.
func parseRoom(t *testing.T, fset *token.FileSet, dir string, names []string) map[string]*ast.File {
	t.Helper()
	files := make(map[string]*ast.File)
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	return files
}

// usesIn returns the uses of package-level names of a package in its own files.
func usesIn(t *testing.T, fset *token.FileSet, imp types.Importer, dir string, files map[string]*ast.File) map[*ast.Ident]types.Object {
	t.Helper()
	conf := types.Config{Importer: imp}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := conf.Check(dir, fset, slices.Collect(maps.Values(files)), &info)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(info.Uses, func(_ *ast.Ident, obj types.Object) bool { return obj.Parent() != pkg.Scope() })
	return info.Uses
}
