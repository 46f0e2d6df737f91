// Package paths compares files and folders.
package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Real returns path, absolute and free of symbolic links. The file need not exist;
// its folder must.
func Real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	in, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(in, filepath.Base(path)), err
}

// Exists reports whether there is a file or folder at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// IsInside reports whether a file at path is below folder. It compares folders, not
// names, because some file systems ignore case.
func IsInside(path, folder string) (bool, error) {
	outer, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	for in := filepath.Dir(path); ; in = filepath.Dir(in) {
		info, err := os.Stat(in)
		if err != nil || os.SameFile(info, outer) {
			return err == nil, err
		}
		if in == filepath.Dir(in) {
			return false, nil
		}
	}
}

// Reason returns err without the path, which is not quoted in it.
func Reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
