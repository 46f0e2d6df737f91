package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
