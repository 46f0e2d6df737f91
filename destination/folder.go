package destination

import (
	"bytes"
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
	dir  *os.File    // the folder itself
	done []operation // since the last Flush
	temp int         // the number of temporary files since then

	// temps is the folder of temporary files, or nil, and tempDir the same.
	temps   *os.Root
	tempDir *os.File

	// writes write temporary files to disk, while further resources are received.
	writes *errgroup.Group
}

// An operation puts the temporary file temp in the place of the file name, or deletes that if
// temp is empty.
type operation struct{ temp, name string }

const (
	stateFolder = localname.State
	tempFolder  = localname.State + "/tmp"

	// syncs is the number of files that are written to disk at a time.
	syncs = 16

	// maxWait is the maximum size of content, in bytes, that is in memory until it is written.
	maxWait = 256 << 10
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
	dir, err := root.Open(".")
	if err == nil {
		f := &Folder{name: name, root: root, dir: dir, writes: newWrites()}
		if err = f.prepare(); err == nil {
			return f, nil
		}
		dir.Close()
	}
	root.Close()
	return nil, fmt.Errorf("destination: %w", err)
}

func (f *Folder) prepare() error {
	if _, err := f.root.Stat(stateFolder); errors.Is(err, fs.ErrNotExist) {
		if names, _ := f.dir.Readdirnames(1); len(names) > 0 {
			return fmt.Errorf("%s has files and is not a copy that was made before; use an empty folder", f.name)
		}
	}
	return f.root.MkdirAll(stateFolder, 0o700)
}

// Close closes the folder. Changes that are not flushed are discarded.
func (f *Folder) Close() error {
	f.writes.Wait()
	f.closeTemps()
	return errors.Join(f.dir.Close(), f.root.Close())
}

// newWrites begins a group of writes.
func newWrites() *errgroup.Group {
	g := new(errgroup.Group)
	g.SetLimit(syncs)
	return g
}

// Put implements [Sink].
func (f *Folder) Put(_ context.Context, c resourcesync.Change, content io.Reader) error {
	if f.temp == 0 {
		if err := f.clear(); err != nil {
			return err
		}
	}
	temp := strconv.Itoa(f.temp)
	f.temp++
	var text *bytes.Buffer
	if length, known := c.Resource.Length.Bytes(); known && length <= maxWait {
		text = bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
		if _, err := text.ReadFrom(content); err != nil {
			return err
		}
	} else if err := f.write(temp, content); err != nil {
		return err
	}
	f.writes.Go(func() error { return f.store(temp, text, c.Resource.LastModified) })
	f.done = append(f.done, operation{temp, c.Resource.Key})
	return nil
}

// clear removes what an earlier process has left, and makes the folder that may have been
// removed.
func (f *Folder) clear() (err error) {
	f.closeTemps()
	if err := f.root.RemoveAll(tempFolder); err != nil {
		return err
	}
	if err := f.root.MkdirAll(tempFolder, 0o700); err != nil {
		return err
	}
	if f.temps, err = f.root.OpenRoot(tempFolder); err != nil {
		return err
	}
	f.tempDir, err = f.temps.Open(".")
	return err
}

func (f *Folder) closeTemps() {
	if f.tempDir != nil {
		f.tempDir.Close()
	}
	if f.temps != nil {
		f.temps.Close()
	}
	f.temps, f.tempDir = nil, nil
}

// write moves content to temp, or copies it.
func (f *Folder) write(temp string, content io.Reader) error {
	if file, ok := content.(*os.File); ok && runtime.GOOS != "windows" {
		if os.Rename(file.Name(), filepath.Join(f.name, filepath.FromSlash(tempFolder), temp)) == nil {
			return nil
		}
	}
	file, err := f.temps.Create(temp)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// store writes text to temp, unless it is nil, and temp to disk.
func (f *Folder) store(temp string, text *bytes.Buffer, modified time.Time) error {
	flags := os.O_RDWR
	if text != nil {
		flags |= os.O_CREATE | os.O_TRUNC
	}
	file, err := f.openTemp(temp, flags)
	if err != nil {
		return err
	}
	if text != nil {
		if _, err := text.WriteTo(file); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if !modified.IsZero() {
		f.temps.Chtimes(temp, time.Now(), modified) // a hint for people; some file systems refuse it
	}
	return errors.Join(file.Sync(), file.Close())
}

// openTempRoot opens or makes a temporary file on any system.
func (f *Folder) openTempRoot(temp string, flags int) (*os.File, error) {
	return f.temps.OpenFile(temp, flags, 0o666)
}

// Delete implements [Sink].
func (f *Folder) Delete(_ context.Context, c resourcesync.Change) error {
	f.done = append(f.done, operation{"", c.Resource.Key})
	return nil
}

// Flush implements [Flusher].
func (f *Folder) Flush(context.Context) error {
	done, err := f.done, f.writes.Wait()
	f.done, f.temp, f.writes = nil, 0, newWrites()
	if len(done) == 0 || err != nil {
		return err
	}
	folders := make(map[string]bool)
	to := &places{Folder: f}
	defer to.close()
	for _, op := range done {
		if err := to.move(op, folders); err != nil {
			return err
		}
	}
	group := newWrites()
	for folder := range folders {
		group.Go(func() error { return f.syncFolder(folder) })
	}
	return group.Wait()
}

// move does op, and records the folders that it changes.
func (p *places) move(op operation, folders map[string]bool) error {
	if op.temp == "" {
		return p.remove(op.name, folders)
	}
	folder := path.Dir(op.name)
	if !folders[folder] {
		if err := p.makeFolder(folder, folders); err != nil {
			return err
		}
	}
	err := p.rename(op.temp, op.name)
	if err == nil {
		return nil
	}
	if info, found := p.root.Lstat(op.name); found == nil && info.IsDir() {
		return foreignError(p.Folder.name, op.name, "folder")
	}
	return err
}

// renameRoot puts a temporary file in its place on any system.
func (f *Folder) renameRoot(temp, name string) error {
	return f.root.Rename(tempFolder+"/"+temp, name)
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

// syncFolder writes the names in a folder to disk. Windows does that itself.
func (f *Folder) syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Open implements [Verifier].
func (f *Folder) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return f.open(r.Key)
}

// openRoot opens a file of the folder on any system.
func (f *Folder) openRoot(name string) (io.ReadCloser, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err // not a nil *os.File
	}
	return file, nil
}
