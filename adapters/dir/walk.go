package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
)

// batch is how many entries of a folder are in memory at once, for each folder
// on the way down.
const batch = 256

// attempts is how often something that changes under our hands is tried.
const attempts = 3

// errInFlux says that a file or folder kept changing while it was looked at.
var errInFlux = errors.New("dir: changes all the time")

// A visitor is shown what a walk finds. An error that it returns ends the walk.
type visitor interface {
	// enter is called before the entries of a folder are read.
	enter(key string) error

	// files is shown some of the regular files of a folder. It holds in for as
	// long as it uses it, and may keep nothing of the slice.
	files(ctx context.Context, in *folder, found []file) error

	// unreadable is told of a folder that could not be read to its end, or of
	// a file that could not be looked at. keys are those of the files that may
	// be there all the same.
	unreadable(ctx context.Context, key string, keys resourcesync.Range, err error)

	// tooLong is told of a folder with nothing in it that could be listed.
	tooLong(key string)
}

// A file is what a walk has found: a regular file as it was then.
type file struct {
	key  string
	info fs.FileInfo
}

// A folder is an open folder that closes when its last user has released it.
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

// walk shows v what is to be listed in the folder at key, whose users include
// the caller, and in all folders below. A folder that vanishes on the way is
// simply gone, except that the folder of the Dir itself cannot be: were its
// volume to go away, everything would look deleted.
//
// Keys are bounded, and with them the depth of the recursion.
func (d *Dir) walk(ctx context.Context, in *folder, key string, v visitor) error {
	if err := v.enter(key); err != nil {
		return err
	}
	list, err := in.Open(".")
	if err != nil {
		tellUnreadable(ctx, v, key, below(key), err)
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
			tellUnreadable(ctx, v, key, below(key), err)
			return nil
		}
	}
}

// visit goes on with entries of the folder in: the files among them together, and
// then each of the folders.
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
		case !e.IsDir() && !e.Type().IsRegular() || !d.admits(key, name, e.IsDir()):
		case e.IsDir():
			folders = append(folders, name)
		default:
			info, err := e.Info()
			if err != nil {
				tellUnreadable(ctx, v, key, alone(key), err)
				continue
			}
			files = append(files, file{key, info})
		}
	}
	if len(files) > 0 {
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
		v.tooLong(key)
		return nil
	}
	root, err := openFolder(in.Root, name)
	if err != nil {
		tellUnreadable(ctx, v, key, below(key), err)
		return nil
	}
	sub := newFolder(root)
	defer sub.release()
	return d.walk(ctx, sub, key, v)
}

func tellUnreadable(ctx context.Context, v visitor, key string, keys resourcesync.Range, err error) {
	if key == "" || !errors.Is(err, fs.ErrNotExist) {
		v.unreadable(ctx, key, keys, err)
	}
}

// below returns the range of the keys of all files below the folder at key: those
// that begin with it and a slash.
func below(key string) resourcesync.Range {
	if key == "" {
		return resourcesync.Range{}
	}
	return resourcesync.Range{From: key + "/", To: key + string('/'+1)}
}

// alone returns the range that holds nothing but key.
func alone(key string) resourcesync.Range {
	return resourcesync.Range{From: key, To: key + "\x00"}
}

// openFolder opens the folder called name that is in in. It opens no symbolic
// link: os.Root follows those that stay inside, so what was opened is compared
// with what was seen to be a folder.
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

// openFile opens the regular file called name that is in in, and no symbolic
// link, as openFolder does.
func openFile(in *os.Root, name string) (*os.File, fs.FileInfo, error) {
	for range attempts {
		seen, err := in.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if !seen.Mode().IsRegular() {
			return nil, nil, notExist(name)
		}
		f, err := in.OpenFile(name, openFlags, 0)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err == nil && os.SameFile(seen, info) {
			return f, info, nil
		}
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errInFlux
}
