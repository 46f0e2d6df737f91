package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
)

// batch is the number of entries read at once.
const batch = 1024

// attempts is the number of attempts to read a changing file or folder.
const attempts = 3

// errInFlux means that a file or folder changed during each attempt to read it.
var errInFlux = errors.New("dir: keeps changing")

// A visitor receives the findings of a walk. An error that it returns ends the walk.
type visitor interface {
	// enter is called before the entries of a folder are read.
	enter(key string) error

	// files receives regular files of one folder. It must hold in for as long as
	// it uses the folder, and must not retain the slice.
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
	key  string
	info fs.FileInfo
}

// A folder is an open folder with a count of its users. The last release closes it.
type folder struct {
	*os.Root
	users atomic.Int32
}

func newFolder(r *os.Root) *folder {
	f := &folder{Root: r}
	f.hold()
	return f
}

func (f *folder) hold() { f.users.Add(1) }

func (f *folder) release() {
	if f.users.Add(-1) == 0 {
		f.Close()
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
	list, err := in.Open(".")
	if err != nil {
		reportUnreadable(ctx, v, key, below(key), err)
		return nil
	}
	defer list.Close()
	prefix := key
	if key != "" {
		prefix += "/"
	}
	for {
		entries, err := list.ReadDir(batch)
		if err := d.visit(ctx, in, prefix, entries, v); err != nil {
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
func (d *Dir) visit(ctx context.Context, in *folder, prefix string, entries []fs.DirEntry, v visitor) error {
	var files []file
	var folders []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		key := prefix + name
		switch {
		case !d.admits(key, name, e.IsDir()):
		case e.Type()&fs.ModeSymlink != 0:
			v.skip(key, errLink)
		case !e.IsDir() && !e.Type().IsRegular(): // FIFOs, sockets and devices have no content to publish
		case e.IsDir():
			folders = append(folders, name)
		default:
			info, err := e.Info()
			if err != nil {
				reportUnreadable(ctx, v, key, only(key), err)
				continue
			}
			files = append(files, file{key, info})
		}
	}
	if len(files) > 0 {
		// Stores find keys that are close to each other faster.
		slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.key, b.key) })
		if err := v.files(ctx, in, files); err != nil {
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
	root, err := openFolder(in.Root, name)
	if err != nil {
		reportUnreadable(ctx, v, key, below(key), err)
		return nil
	}
	sub := newFolder(root)
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

// openFolder opens the folder called name in the folder in, unless it is a symbolic
// link. os.Root follows links that stay inside, so openFolder compares the opened
// folder with the one that Lstat found.
func openFolder(in *os.Root, name string) (*os.Root, error) {
	for range attempts {
		seen, err := in.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !seen.IsDir() {
			return nil, notExist(name)
		}
		sub, err := in.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		info, err := sub.Stat(".")
		if err == nil && os.SameFile(seen, info) {
			return sub, nil
		}
		sub.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, errInFlux
}

// openFile opens the regular file called name in the folder in, unless it is a symbolic
// link; see openFolder. seen is what Lstat has found before, or nil.
func openFile(in *os.Root, name string, seen fs.FileInfo) (*os.File, fs.FileInfo, error) {
	for range attempts {
		if seen == nil {
			var err error
			if seen, err = in.Lstat(name); err != nil {
				return nil, nil, err
			}
		}
		if !seen.Mode().IsRegular() {
			return nil, nil, notExist(name)
		}
		f, err := in.OpenFile(name, openFlags, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() && os.SameFile(seen, info) {
			return f, info, nil
		}
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		seen = nil
	}
	return nil, nil, errInFlux
}
