package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/scan"
)

var (
	_ scan.Origin     = (*Dir)(nil)
	_ scan.Binder     = (*Dir)(nil)
	_ scan.Parter     = (*Dir)(nil)
	_ scan.Watcher    = (*Dir)(nil)
	_ scan.Estimator  = (*Dir)(nil)
	_ scan.Progresser = (*Dir)(nil)
	_ scan.Identifier = (*Dir)(nil)
	_ scan.Excluder   = (*Dir)(nil)
	_ scan.Recognizer = (*Dir)(nil)
	_ scan.Container  = (*Dir)(nil)
)

// Bind implements [scan.Binder]: from now on, a scan does not read a file again that set has in
// its current version. It must not be called while a scan runs.
func (d *Dir) Bind(_ context.Context, set scan.Stored, _ func(ctx context.Context, purpose string) (scan.Stored, error)) error {
	d.known = set.Known
	return nil
}

// Progress implements [scan.Progresser]. Skipped counts files and folders that cannot be read,
// keep changing, or have a name that is too long; and symbolic links.
func (d *Dir) Progress() scan.Progress {
	s := d.last.Load()
	if s == nil {
		return scan.Progress{}
	}
	return scan.Progress{Resources: s.yielded.Load(), Skipped: s.skipped.Load(), Bytes: s.bytes.Load()}
}

// Estimate implements [scan.Estimator]: it returns the number of files that a scan would list,
// and their size. It opens folders, but no files. The numbers are inexact if files change
// meanwhile or cannot be read.
func (d *Dir) Estimate(ctx context.Context) (files, bytes int64, err error) {
	in, err := d.folder("")
	if err != nil {
		return 0, 0, err
	}
	defer in.release()
	var c counter
	err = d.walk(ctx, in, "", &c)
	return c.number, c.bytes, err
}

// A counter is a visitor that counts files.
type counter struct{ number, bytes int64 }

func (c *counter) files(_ context.Context, _ *folder, found []file) error {
	c.number += int64(len(found))
	for _, f := range found {
		c.bytes += f.status.size
	}
	return nil
}

func (*counter) enter(string) error                                            { return nil }
func (*counter) unreadable(context.Context, string, resourcesync.Range, error) {}
func (*counter) skip(string, error)                                            {}

// Identity implements [scan.Identifier]. A folder is the same if its path free of symbolic
// links is: a link may lead to each release in turn.
func (d *Dir) Identity() scan.Identity {
	return scan.Identity{Name: d.real, Given: d.path, URIs: d.base, Excluded: d.excluded}
}

// Contains implements [scan.Container]: it reports whether the file at path is below the folder,
// whether or not it is excluded.
func (d *Dir) Contains(path string) (bool, error) { return paths.IsInside(path, d.path) }

// Recognizes implements [scan.Recognizer]: a link that led to the folder of the set must lead to
// one with at least one of its files.
func (d *Dir) Recognizes(ctx context.Context, set scan.Stored) (bool, error) {
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if errors.Is(err, resourcesync.ErrNotReady) {
			return true, nil // the set has none
		}
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(filepath.Join(d.path, filepath.FromSlash(r.Key))); err == nil {
			return true, nil
		}
	}
	st, err := set.Stat(ctx, resourcesync.Range{})
	return st.Count == 0, err
}
