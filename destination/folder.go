package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
	"github.com/resourcesync-go/resourcesync/internal/fault"
)

// A Folder is a [Sink] that keeps each resource in a file. A file is always whole: content
// is written to a temporary file, which replaces the old file once it is on disk. Files have
// the modification times of their resources.
//
// Others may write to the folder, too. Their files, folders and symbolic links are never replaced,
// moved, removed or followed, nor are their folders removed when they are empty. On Linux, a new
// file is put in its place by an operation that replaces nothing. Elsewhere, that is a hard link.
// On file systems with neither, the place is checked just before.
//
// It also has a subfolder ".resourcesync" for temporary files, and for the state of a
// Destination without [Options].State.
type Folder struct {
	name string
	root *os.Root
	dir  *os.File    // the folder itself
	done []operation // since the last Flush
	temp int         // the number of temporary files since then

	// temps is the folder of temporary files, or nil. tempDir is the same folder.
	temps   *os.Root
	tempDir *os.File

	folders FolderLog // nil until Prepare

	// writes write temporary files to disk, while further resources are received.
	writes *errgroup.Group

	hook fault.Hook // nil, except in tests
}

// An operation replaces the file name with the temporary file temp, or deletes name if temp
// is empty. If isNew, the file does not exist yet.
type operation struct {
	temp, name string
	isNew      bool
}

const (
	stateFolder = localname.State
	tempFolder  = localname.State + "/tmp"

	// syncs is the number of files that are written to disk at a time.
	syncs = 16

	// maxWait is the maximum size of content, in bytes, that is in memory until it is written.
	maxWait = 256 << 10
)

// OpenFolder opens the folder name, and creates it if necessary. A folder with files
// must be a copy already, so that no other files are lost.
func OpenFolder(name string) (*Folder, error) { return openFolder(name, false, nil) }

// AdoptFolder is like OpenFolder, for a folder whose state is lost: it may have files.
// See [Options].Rebuild.
func AdoptFolder(name string) (*Folder, error) { return openFolder(name, true, nil) }

func openFolder(name string, adopt bool, hook fault.Hook) (*Folder, error) {
	if err := os.MkdirAll(name, 0o777); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	dir, err := root.Open(".")
	if err == nil {
		f := &Folder{name: name, root: root, dir: dir, writes: newWrites(), hook: hook}
		if err = f.prepare(adopt); err == nil {
			return f, nil
		}
		dir.Close()
	}
	root.Close()
	return nil, fmt.Errorf("destination: %w", err)
}

func (f *Folder) prepare(adopt bool) error {
	if _, err := f.root.Stat(stateFolder); errors.Is(err, fs.ErrNotExist) && !adopt {
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

// Prepare implements [Preparer].
func (f *Folder) Prepare(_ context.Context, folders FolderLog) error {
	f.folders = folders
	f.writes.Wait()
	f.done, f.temp, f.writes = nil, 0, newWrites()
	f.closeTemps()
	if err := f.hook.Before("clear", tempFolder); err != nil {
		return err
	}
	return f.root.RemoveAll(tempFolder)
}

// Put implements [Sink].
func (f *Folder) Put(_ context.Context, c resourcesync.Change, content io.Reader) error {
	if f.temps == nil {
		if err := f.openTemps(); err != nil {
			return err
		}
	}
	temp := strconv.Itoa(f.temp)
	f.temp++
	var text []byte
	if length, known := c.Resource.Length.Bytes(); known && length <= maxWait {
		text = make([]byte, length)
		if _, err := io.ReadFull(content, text); err != nil {
			return err
		}
	} else if err := f.write(temp, content); err != nil {
		return err
	}
	f.writes.Go(func() error { return f.store(temp, text, c.Resource.LastModified) })
	f.done = append(f.done, operation{temp, c.Resource.Key, c.Type == resourcesync.Created})
	return nil
}

// openTemps opens the folder of temporary files, and creates it if necessary.
func (f *Folder) openTemps() (err error) {
	if err := f.hook.Before("mkdir", tempFolder); err != nil {
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
	if err := f.hook.Before("create", tempFolder+"/"+temp); err != nil {
		return err
	}
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
func (f *Folder) store(temp string, text []byte, modified time.Time) error {
	if err := f.hook.Before("write", tempFolder+"/"+temp); err != nil {
		return err
	}
	if text != nil {
		return f.storeText(temp, text, modified)
	}
	return f.storeRoot(temp, nil, modified)
}

// storeRoot is store on any system.
func (f *Folder) storeRoot(temp string, text []byte, modified time.Time) error {
	flags := os.O_RDWR
	if text != nil {
		flags |= os.O_CREATE | os.O_TRUNC
	}
	file, err := f.temps.OpenFile(temp, flags, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		f.setModified(temp, modified)
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Delete implements [Sink].
func (f *Folder) Delete(_ context.Context, c resourcesync.Change) error {
	f.done = append(f.done, operation{name: c.Resource.Key})
	return nil
}
