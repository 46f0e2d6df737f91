package versions

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/scan/scantest"
)

func write(t testing.TB, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func openFolder(t testing.TB, path string, store *Store) *Folder {
	t.Helper()
	f, err := OpenFolder(path, "https://example.org/", store, nil)
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	return f
}

// TestOrigin: a folder with versions obeys the contract of an origin.
func TestOrigin(t *testing.T) {
	scantest.Test(t, func(t testing.TB) scantest.Case {
		here := filepath.Join(t.TempDir(), "files")
		for _, key := range []string{"a.txt", "b/c.txt", "b/d.txt"} {
			write(t, "content of "+key, here, key)
		}
		return scantest.Case{
			Open: func(t testing.TB) scan.Origin { return openFolder(t, here, open(t, t.TempDir())) },
			Change: func(t testing.TB) []string {
				write(t, "another content", here, "a.txt")
				must(t, os.Remove(filepath.Join(here, "b", "c.txt")))
				write(t, "new", here, "new.txt")
				return []string{"a.txt", "b/c.txt", "new.txt"}
			},
			Break: func(t testing.TB) { must(t, os.Rename(here, here+" elsewhere")) },
		}
	})
}

// copied returns the number of copies in a Store.
func copied(t *testing.T, s *Store) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.path, "*", "*"))
	must(t, err)
	return len(names)
}

// TestFolder: the first scan of a set copies nothing, and every later version is copied, also
// if this process has only scanned parts. While a version cannot be copied, it is not published.
func TestFolder(t *testing.T) {
	ctx, here, place := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "versions")
	write(t, "first", here, "a.txt")
	sets, store := new(memory.Store), open(t, place)
	folder := openFolder(t, here, store)
	set, err := scan.Into(ctx, sets, "files", folder, nil)
	must(t, err)
	update := func() error { _, err := set.Update(ctx); return err }
	must(t, update())
	if n := copied(t, store); n != 0 {
		t.Errorf("the first scan made %d copies", n)
	}
	write(t, "the second", here, "a.txt")
	must(t, update())

	folder = openFolder(t, here, store)
	set, err = scan.Into(ctx, sets, "files", folder, nil)
	must(t, err)
	write(t, "and the third", here, "a.txt")
	for _, err := range second(folder.Part(ctx, []string{"a.txt"})) {
		must(t, err)
	}
	if n := copied(t, store); n != 2 {
		t.Errorf("%d copies of two versions", n)
	}
	must(t, update())

	must(t, os.Rename(place, place+" elsewhere"))
	write(t, "this is the fourth", here, "a.txt")
	if err := update(); err == nil {
		t.Error("a version was published without a copy")
	}
	must(t, os.Rename(place+" elsewhere", place))
	must(t, update())
	want := []string{"the second", "and the third", "this is the fourth"}
	for c, err := range set.Changes(ctx, resourcesync.Interval{}) {
		must(t, err)
		version, err := folder.OpenChange(ctx, c)
		must(t, err)
		text, err := io.ReadAll(version)
		must(t, err)
		must(t, version.Close())
		if len(want) == 0 || string(text) != want[0] {
			t.Fatalf("%v: %q, want %q", c, text, want)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("not published: %q", want)
	}
}

func second[A, B any](_ A, b B) B { return b }

// failing is a set that cannot be read.
type failing struct{ scan.Stored }

func (failing) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, io.ErrUnexpectedEOF
}

// TestFolderFails: while a Folder cannot know whether versions are copied, a part is not scanned.
// Its ranges are known, so the failure is noticed.
func TestFolderFails(t *testing.T) {
	here := t.TempDir()
	write(t, "first", here, "a.txt")
	folder := openFolder(t, here, open(t, t.TempDir()))
	must(t, folder.Bind(t.Context(), failing{}, nil))
	ranges, resources := folder.Part(t.Context(), []string{"a.txt"})
	if len(ranges) != 1 {
		t.Errorf("ranges: %v", ranges)
	}
	for _, err := range resources {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
}

// TestHashes: without SHA-256, versions cannot be found.
func TestHashes(t *testing.T) {
	for _, hashes := range [][]string{{}, {"md5"}} {
		if _, err := OpenFolder(t.TempDir(), "https://example.org/", open(t, t.TempDir()), &dir.Options{Hashes: hashes}); err == nil {
			t.Errorf("%q is accepted", hashes)
		}
	}
}
