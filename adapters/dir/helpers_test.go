package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

const base = "https://example.org/files/"

// openDir opens the folder at path for a test. Files count as settled at once, unless o
// says otherwise.
func openDir(t testing.TB, path string, o *Options) *Dir {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := Open(path, base, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.unsettled = 0
	return d
}

// write writes the file at key below root, and creates its folders.
func write(t testing.TB, root, key, body string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

// age sets the modification times of all files below root to an hour ago.
func age(t testing.TB, root string) {
	t.Helper()
	before := time.Now().Add(-time.Hour)
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, before, before)
	}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// list scans d and returns what it yields before its error, which comes last. It leaves
// out unreadable files.
func list(t testing.TB, d *Dir) (map[string]resourcesync.Resource, error) {
	t.Helper()
	return listContext(t, t.Context(), d)
}

func listContext(t testing.TB, ctx context.Context, d *Dir) (map[string]resourcesync.Resource, error) {
	t.Helper()
	found := map[string]resourcesync.Resource{}
	var last error
	for r, err := range d.Resources(ctx) {
		if _, ok := errors.AsType[*resourcesync.UnreadableError](err); ok {
			continue
		}
		if last != nil {
			t.Fatalf("after the error %v came %v, %v", last, r, err)
		}
		if err == resourcesync.ErrUnchanged {
			known, e := d.known(t.Context(), []string{r.Key})
			must(t, e)
			r, err = known[0], nil
		}
		if err != nil {
			if !r.Equal(resourcesync.Resource{}) {
				t.Errorf("an error came with %v", r)
			}
			last = err
			continue
		}
		if _, twice := found[r.Key]; twice {
			t.Errorf("%q came twice", r.Key)
		}
		found[r.Key] = r.Clone()
	}
	return found, last
}

// unreadable scans d and returns the ranges of keys that it could not read.
func unreadable(t testing.TB, d *Dir) (ranges []resourcesync.Range) {
	t.Helper()
	for r, err := range d.Resources(t.Context()) {
		if u, ok := errors.AsType[*resourcesync.UnreadableError](err); ok {
			if !r.Equal(resourcesync.Resource{}) {
				t.Errorf("%v came with %v", err, r)
			}
			ranges = append(ranges, u.Keys)
		}
	}
	return ranges
}

// complete scans d, which must work.
func complete(t testing.TB, d *Dir) map[string]resourcesync.Resource {
	t.Helper()
	found, err := list(t, d)
	must(t, err)
	return found
}

func keys(found map[string]resourcesync.Resource) []string {
	return slices.Sorted(maps.Keys(found))
}

// wantKeys compares the results of a scan with names separated by spaces.
func wantKeys(t testing.TB, found map[string]resourcesync.Resource, want string) {
	t.Helper()
	if got := strings.Join(keys(found), " "); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// A memory holds the resources of the previous scan.
type memory map[string]resourcesync.Resource

func (m memory) lookup(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
	var known []resourcesync.Resource
	for _, key := range keys {
		known = append(known, m[key])
	}
	return known, nil
}

// rescan scans d, remembers the results, and returns them and the number of bytes read.
func (m *memory) rescan(t testing.TB, d *Dir) (map[string]resourcesync.Resource, int64) {
	t.Helper()
	d.known = m.lookup
	*m = complete(t, d)
	return *m, d.Progress().Bytes
}

// A logbook keeps what is logged.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) lines(containing string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), containing)
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// manyFiles writes n files into a few folders below root.
func manyFiles(t testing.TB, root string, n int) {
	t.Helper()
	for i := range n {
		write(t, root, fmt.Sprintf("%d/%d.txt", i%7, i), fmt.Sprint("file ", i))
	}
}
