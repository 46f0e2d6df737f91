//go:build !unix

package dir

import (
	"io/fs"
	"os"
	"sync/atomic"
)

// A folder is an open folder with a count of its users. Its methods take the name of one
// file or folder in it, and follow no symbolic links.
type folder struct {
	root  *os.Root
	users atomic.Int32
}

// newFolder opens the folder at path.
func newFolder(path string) (*folder, error) { return openedFolder(os.OpenRoot(path)) }

func openedFolder(root *os.Root, err error) (*folder, error) {
	if err != nil {
		return nil, err
	}
	f := &folder{root: root}
	f.hold()
	return f, nil
}

// A folderID would identify an existing folder, also after it was renamed.
type folderID struct{}

func identify(path string) folderID { return folderID{} }

// isAt reports whether f is the folder at path.
func (f *folder) isAt(path string) (bool, error) {
	held, err := f.root.Stat(".")
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there), err
}

func (f *folder) close() { f.root.Close() }

// openFolder opens the folder called name.
func (f *folder) openFolder(name string) (*folder, error) {
	return openedFolder(openFolder(f.root, name))
}

// open opens the file called name, if it is a regular one.
func (f *folder) open(name string) (*rawFile, status, error) {
	file, info, err := openFile(f.root, name)
	if err != nil {
		return nil, status{}, err
	}
	return &rawFile{file}, statusOf(info), nil
}

func (f *folder) lstat(name string) (status, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return status{}, err
	}
	return statusOf(info), nil
}

// A rawFile is an open file. One goroutine uses it at a time.
type rawFile struct{ *os.File }

func (f *rawFile) close() { f.Close() }

// osFile turns f into an os.File.
func (f *rawFile) osFile(name string) *os.File { return f.File }

func (f *rawFile) status() (status, error) {
	info, err := f.Stat()
	if err != nil {
		return status{}, err
	}
	return statusOf(info), nil
}

// A lister reads the names in a folder once.
type lister struct {
	*folder
	list *os.File
}

// next returns some more names, and [io.EOF] with or after the last ones. The result is
// valid until the next call.
func (l *lister) next() (names []string, err error) {
	if l.list == nil {
		if l.list, err = l.root.Open("."); err != nil {
			return nil, err
		}
	}
	return l.list.Readdirnames(batch)
}

func (l *lister) close() {
	if l.list != nil {
		l.list.Close()
	}
}

// statusOf has no further signs that a file has changed on this system.
func statusOf(info fs.FileInfo) status {
	return status{info.Mode().Type(), info.Size(), info.ModTime(), info.ModTime(), 0}
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
// link; see openFolder.
func openFile(in *os.Root, name string) (*os.File, fs.FileInfo, error) {
	for range attempts {
		seen, err := in.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if !seen.Mode().IsRegular() {
			return nil, nil, notExist(name)
		}
		f, err := in.Open(name)
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
	}
	return nil, nil, errInFlux
}
