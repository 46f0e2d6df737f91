package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/scan/scantest"
)

// TestD14_Count: the estimate is the number of files that a scan lists.
func TestD14_Count(t *testing.T) {
	here := t.TempDir()
	for i, key := range []string{"a", "b/c", "b/d/e", ".hidden", "excluded/f", "b/.git/g"} {
		write(t, here, key, strings.Repeat("x", 1<<i))
	}
	d := openDir(t, here, &Options{Exclude: func(path string, isDir bool) bool { return path == "excluded" }})
	files, bytes, err := d.Estimate(t.Context())
	if found := complete(t, d); err != nil || files != int64(len(found)) || files != 3 || bytes != 1+2+4 {
		t.Errorf("%d files of %d bytes, %v; a scan lists %d", files, bytes, err, len(found))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Estimate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDatabaseInTheFolder: a scan would publish the database, whose changes would cause the next scan.
func TestDatabaseInTheFolder(t *testing.T) {
	here := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(here, "papers", "sub"), 0o755))
	must(t, os.Symlink("papers", filepath.Join(here, "link")))
	for _, test := range []struct {
		published, database string
		refused             bool
	}{
		{"papers", "papers/state.db", true},
		{"papers", "papers/sub/state.db", true},
		{"link", "papers/sub/.state.db", true},
		{"papers", "link/state2.db", true},
		{"papers/sub", "papers/state3.db", false},
		{"papers", "papers.db", false},
	} {
		store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(here, test.database), nil)
		must(t, err)
		d := openDir(t, filepath.Join(here, test.published), nil)
		_, err = scan.Into(t.Context(), store, "papers", d, nil)
		if test.refused != (err != nil) || err != nil && !strings.HasSuffix(err.Error(), "is in the folder that is published: keep it in another folder") {
			t.Errorf("%s in %s: %v", test.database, test.published, err)
		}
		must(t, store.Close())
	}
}

// TestOrigin: a folder obeys the contract of an origin.
func TestOrigin(t *testing.T) {
	scantest.Test(t, func(t testing.TB) scantest.Case {
		here := filepath.Join(t.TempDir(), "files")
		for _, key := range []string{"a.txt", "b/c.txt", "b/d.txt", "e/f/g.txt", "é %.txt"} {
			write(t, here, key, "content of "+key)
		}
		return scantest.Case{
			Open: func(t testing.TB) scan.Origin { return openDir(t, here, nil) },
			Change: func(t testing.TB) []string {
				write(t, here, "a.txt", "another content")
				must(t, os.Remove(filepath.Join(here, "b", "c.txt")))
				must(t, os.Rename(filepath.Join(here, "e"), filepath.Join(here, "new")))
				return []string{"a.txt", "b/c.txt", "e/", "new/"}
			},
			Break: func(t testing.TB) { must(t, os.Rename(here, here+" elsewhere")) },
		}
	})
}
