package dir

import (
	"errors"
	"io/fs"
	"os"
)

// attempts is the number of attempts to read a changing file or folder.
const attempts = 3

// errInFlux means that a file or folder changed during each attempt to read it.
var errInFlux = errors.New("dir: keeps changing")

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
	}
	return nil, nil, errInFlux
}
