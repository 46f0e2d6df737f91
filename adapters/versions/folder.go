package versions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Folder is the origin of a set of files with a Change Dump: a [dir.Dir] whose scans copy
// each new version of a file to a Store, and prune the Store. [scan.Into] joins it with a set.
// The files found by the first scan of the set are not changes, and are not copied.
type Folder struct {
	*dir.Dir
	store  *Store
	log    *slog.Logger
	set    scan.Stored // nil before Bind
	copies atomic.Bool // the first scan has ended
}

var (
	_ scan.Binder                  = (*Folder)(nil)
	_ resourcesync.ChangeOpener    = (*Folder)(nil)
	_ resourcesync.VersionRetainer = (*Folder)(nil)
	_ resourcesync.VersionLinker   = (*Folder)(nil)
)

// OpenFolder opens the folder at path, as [dir.Open] does. Keep in o, which may be nil, is
// ignored. It fails if Hashes leaves out SHA-256, by which copies are found.
func OpenFolder(path, base string, store *Store, o *dir.Options) (*Folder, error) {
	f := &Folder{store: store}
	var options dir.Options
	if o != nil {
		options = *o
	}
	if options.Hashes != nil && !slices.Contains(options.Hashes, "sha-256") {
		return nil, fmt.Errorf("versions: the hashes %q lack sha-256, which identifies copies", options.Hashes)
	}
	options.Keep = f.keep
	f.log = cmp.Or(options.Logger, slog.Default())
	var err error
	if f.Dir, err = dir.Open(path, base, &options); err != nil {
		return nil, err
	}
	return f, nil
}

// keep begins the copy of a file that a scan reads.
func (f *Folder) keep() (dir.Copy, error) {
	if !f.copies.Load() {
		return nil, nil
	}
	return f.store.Create()
}

// Bind implements [scan.Binder].
func (f *Folder) Bind(ctx context.Context, set scan.Stored, open func(ctx context.Context, purpose string) (scan.Stored, error)) error {
	f.set = set
	return f.Dir.Bind(ctx, set, open)
}

// begin decides whether a scan copies what it reads. A scan that replaces all URIs copies
// nothing either: it would copy all files.
func (f *Folder) begin(ctx context.Context) error {
	if f.copies.Load() || f.set == nil {
		return nil
	}
	if _, err := f.set.Stat(ctx, resourcesync.Range{}); errors.Is(err, resourcesync.ErrNotReady) {
		return nil
	} else if err != nil {
		return err
	}
	recorded, err := scan.Recorded(ctx, f.set)
	if err == nil && recorded.URIs == f.Identity().URIs {
		f.copies.Store(true)
	}
	return err
}

// Resources implements [scan.Origin]. It also prunes the Store: no other process that shares it
// scans now.
func (f *Folder) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if err := f.begin(ctx); err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		if err := f.store.Prune(ctx); err != nil {
			f.log.WarnContext(ctx, "old versions not removed", "error", err)
		}
		f.Dir.Resources(ctx)(yield)
	}
}

// Part implements [scan.Parter].
func (f *Folder) Part(ctx context.Context, paths []string) ([]resourcesync.Range, iter.Seq2[resourcesync.Resource, error]) {
	ranges, resources := f.Dir.Part(ctx, paths)
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		if err := f.begin(ctx); err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		resources(yield)
	}
}

// OpenChange implements [resourcesync.ChangeOpener]: it opens the copy of the version after c,
// or the file itself if that is the version. So the files found by the first scan have a version,
// too, until they change.
func (f *Folder) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	content, err := f.store.OpenChange(ctx, c)
	if errors.Is(err, fs.ErrNotExist) && c.Type != resourcesync.Deleted {
		return f.Open(ctx, c.Resource)
	}
	return content, err
}

// Since implements [resourcesync.VersionRetainer].
func (f *Folder) Since(ctx context.Context) (time.Time, error) { return f.store.Since(ctx) }

// Linked implements [resourcesync.VersionLinker].
func (f *Folder) Linked(t time.Time) bool { return f.store.Linked(t) }
