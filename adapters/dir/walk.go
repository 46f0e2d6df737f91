package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// batch is the maximum number of files that a visitor receives at once.
const batch = 1024

// A visitor receives the findings of a walk. An error that it returns ends the walk.
type visitor interface {
	// enter is called before the entries of a folder are read.
	enter(key string) error

	// files receives regular files of one folder, sorted. It must hold in for as long
	// as it uses the folder.
	files(ctx context.Context, in *folder, found []file) error

	// unreadable receives a folder that cannot be read completely, or a file that
	// cannot be examined. keys is the range of the keys that may exist there.
	unreadable(ctx context.Context, key string, keys resourcesync.Range, err error)

	// skip receives a symbolic link, or a folder whose path is so long that no file
	// in it can be listed, with the reason.
	skip(key string, reason error)
}

// A file is a regular file that a walk has found.
type file struct {
	key    string
	name   string // the last element of key
	status status
}

// hold adds a user of the folder. Its last release closes it.
func (f *folder) hold() { f.users.Add(1) }

// tryHold is like hold, but reports whether the folder is still open.
func (f *folder) tryHold() bool {
	for n := f.users.Load(); n > 0; n = f.users.Load() {
		if f.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

func (f *folder) release() {
	if f.users.Add(-1) == 0 {
		f.close()
	}
}

// walk calls v for the published files in the folder at key, which the caller holds,
// and in all folders below. It ignores a folder that disappears during the walk, except
// the root folder: if its volume is unmounted, everything would look deleted.
//
// The length of keys is limited, and so is the depth of the recursion.
func (d *Dir) walk(ctx context.Context, in *folder, key string, v visitor) error {
	if err := v.enter(key); err != nil {
		return err
	}
	list := lister{folder: in}
	defer list.close()
	prefix := key
	if key != "" {
		prefix += "/"
	}
	for {
		names, err := list.next()
		if err := d.visit(ctx, in, prefix, names, v); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			reportUnreadable(ctx, v, key, below(key), err)
			return nil
		}
	}
}

// visit calls v for entries of the folder in: first for all files, then for each
// folder.
func (d *Dir) visit(ctx context.Context, in *folder, prefix string, names []string, v visitor) error {
	files := make([]file, 0, len(names))
	var folders []string
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !d.dotFiles && name[0] == '.' {
			continue
		}
		key := prefix + name
		st, err := in.lstat(name)
		switch {
		case errors.Is(err, fs.ErrPermission): // the folder cannot be read
			in := strings.TrimSuffix(prefix, "/")
			v.unreadable(ctx, in, below(in), err)
			return nil
		case err != nil: // it may be a file or a folder
			if d.admits(key, name, false) {
				reportUnreadable(ctx, v, key, only(key), err)
			}
			if d.admits(key, name, true) {
				reportUnreadable(ctx, v, key, below(key), err)
			}
		case !d.admits(key, name, st.mode.IsDir()):
		case st.mode&fs.ModeSymlink != 0:
			v.skip(key, errLink)
		case st.mode.IsDir():
			folders = append(folders, name)
		case st.mode.IsRegular(): // FIFOs, sockets and devices have no content to publish
			files = append(files, file{key, name, st})
		}
	}
	// Stores find keys that are close to each other faster.
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for part := range slices.Chunk(files, batch) {
		if err := v.files(ctx, in, part); err != nil {
			return err
		}
	}
	for _, name := range folders {
		if err := d.descend(ctx, in, prefix+name, name, v); err != nil {
			return err
		}
	}
	return nil
}

// descend walks the folder at key, called name in the folder in.
func (d *Dir) descend(ctx context.Context, in *folder, key, name string, v visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(key)+len("/") >= resourcesync.MaxKeyLength {
		v.skip(key, errTooLong)
		return nil
	}
	sub, err := in.openFolder(name)
	if err != nil {
		reportUnreadable(ctx, v, key, below(key), err)
		return nil
	}
	defer sub.release()
	return d.walk(ctx, sub, key, v)
}

func reportUnreadable(ctx context.Context, v visitor, key string, keys resourcesync.Range, err error) {
	if key == "" || !errors.Is(err, fs.ErrNotExist) {
		v.unreadable(ctx, key, keys, err)
	}
}

// below returns the range of the keys of all files below the folder at key: the keys
// that begin with key and a slash.
func below(key string) resourcesync.Range {
	if key == "" {
		return resourcesync.Range{}
	}
	return resourcesync.Range{From: key + "/", To: key + string('/'+1)}
}

// only returns the range that contains key and no other key.
func only(key string) resourcesync.Range {
	return resourcesync.Range{From: key, To: key + "\x00"}
}
