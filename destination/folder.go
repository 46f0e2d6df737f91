package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
)

// A Folder is a [Sink] that keeps each resource in a file. A file is always whole: content
// is written to a temporary file, which replaces the old file once it is on disk. Files have
// the modification times of their resources.
//
// It also has a subfolder ".resourcesync" for temporary files, and for the state of a
// Destination without [Options].State.
type Folder struct {
	name string
	root *os.Root
	done []operation // since the last Flush
	temp int         // the number of temporary files since then
}

// An operation puts the file temp in the place of the file name, or deletes that if temp is
// empty.
type operation struct{ temp, name string }

const (
	stateFolder = localname.State
	tempFolder  = localname.State + "/tmp"

	// syncs is the number of files that are written to disk at a time.
	syncs = 16
)

// OpenFolder opens the folder name, and creates it if there is none. A folder with files
// must be a copy already, so that no other files are lost.
func OpenFolder(name string) (*Folder, error) {
	if err := os.MkdirAll(name, 0o777); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	f := &Folder{name: name, root: root}
	if err := f.prepare(); err != nil {
		root.Close()
		return nil, fmt.Errorf("destination: %w", err)
	}
	return f, nil
}

func (f *Folder) prepare() error {
	if _, err := f.root.Stat(stateFolder); errors.Is(err, fs.ErrNotExist) {
		dir, err := f.root.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		if names, _ := dir.Readdirnames(1); len(names) > 0 {
			return fmt.Errorf("%s has files and is not a copy that was made before; use an empty folder", f.name)
		}
	}
	return f.root.MkdirAll(stateFolder, 0o700)
}

// Close closes the folder. Changes that are not flushed are discarded.
func (f *Folder) Close() error { return f.root.Close() }

// Put implements [Sink].
func (f *Folder) Put(_ context.Context, c resourcesync.Change, content io.Reader) error {
	if f.temp == 0 {
		if err := f.clear(); err != nil {
			return err
		}
	}
	temp := tempFolder + "/" + strconv.Itoa(f.temp)
	f.temp++
	if err := f.write(temp, content); err != nil {
		return err
	}
	if t := c.Resource.LastModified; !t.IsZero() {
		f.root.Chtimes(temp, time.Now(), t) // a hint for people; some file systems refuse it
	}
	f.done = append(f.done, operation{temp, c.Resource.Key})
	return nil
}

// clear removes the files that an earlier process has left.
func (f *Folder) clear() error {
	if err := f.root.RemoveAll(tempFolder); err != nil {
		return err
	}
	return f.root.MkdirAll(tempFolder, 0o700)
}

// write moves content to temp, or copies it.
func (f *Folder) write(temp string, content io.Reader) error {
	if file, ok := content.(*os.File); ok && runtime.GOOS != "windows" {
		if os.Rename(file.Name(), filepath.Join(f.name, filepath.FromSlash(temp))) == nil {
			return nil
		}
	}
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// Delete implements [Sink].
func (f *Folder) Delete(_ context.Context, c resourcesync.Change) error {
	f.done = append(f.done, operation{"", c.Resource.Key})
	return nil
}

// Flush implements [Flusher].
func (f *Folder) Flush(context.Context) error {
	done := f.done
	f.done, f.temp = nil, 0
	if len(done) == 0 {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(syncs)
	for _, op := range done {
		if op.temp != "" {
			group.Go(func() error { return f.sync(op.temp, os.O_RDWR) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	folders := make(map[string]bool)
	for _, op := range done {
		if err := f.move(op, folders); err != nil {
			return err
		}
	}
	for folder := range folders {
		group.Go(func() error { return f.syncFolder(folder) })
	}
	return group.Wait()
}

// move does op, and records the folders that it changes.
func (f *Folder) move(op operation, folders map[string]bool) error {
	if op.temp == "" {
		return f.remove(op.name, folders)
	}
	folder := path.Dir(op.name)
	if !folders[folder] {
		if err := f.makeFolder(folder, folders); err != nil {
			return err
		}
	}
	err := f.root.Rename(op.temp, op.name)
	if info, found := f.root.Lstat(op.name); err != nil && found == nil && info.IsDir() {
		return foreignError(f.name, op.name, "folder")
	}
	return err
}

// foreignError returns the error for something at the place of a copy that is not a copy.
func foreignError(folder, name, kind string) error {
	return fmt.Errorf("%s is a %s that the Source does not have; move it out of the copy and try again", filepath.Join(folder, filepath.FromSlash(name)), kind)
}

// makeFolder creates a folder with those above it.
func (f *Folder) makeFolder(folder string, folders map[string]bool) error {
	for at := folder; at != "." && !folders[at]; at = path.Dir(at) {
		folders[at] = true
	}
	folders["."] = true
	err := f.root.MkdirAll(folder, 0o777)
	for at := folder; err != nil && at != "."; at = path.Dir(at) {
		if info, found := f.root.Lstat(at); found == nil && info.Mode().IsRegular() {
			return foreignError(f.name, at, "file")
		}
	}
	return err
}

// remove removes a file, and the folders that it leaves empty.
func (f *Folder) remove(name string, folders map[string]bool) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := path.Dir(name)
	for ; folder != "."; folder = path.Dir(folder) {
		if f.root.Remove(folder) != nil {
			break
		}
		delete(folders, folder)
	}
	folders[folder] = true
	return nil
}

// sync writes a file to disk.
func (f *Folder) sync(name string, flags int) error {
	file, err := f.root.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncFolder writes the names in a folder to disk. Windows does that itself.
func (f *Folder) syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := f.sync(name, os.O_RDONLY); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Open implements [Verifier].
func (f *Folder) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	file, err := f.root.Open(r.Key)
	if err != nil {
		return nil, err
	}
	return file, nil
}
