package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MakePrivate creates an empty file at path that only its owner can read, unless there
// is one. SQLite would create a file with default permissions, and gives its log the
// same ones.
//
// It does not open an existing file, because closing it would release the locks that
// SQLite holds on it in this process.
func MakePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("it cannot be created: %w", failed.Err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// CheckLinks returns an error if the file at path has several names. SQLite finds the
// log and the locks of a database by its name: two processes with different names would
// not see each other's locks, and would damage it.
func CheckLinks(path string) error {
	n, err := links(path)
	if err == nil && n > 1 {
		err = fmt.Errorf("the file has %d names (hard links), and only one may be in use; delete the other names, or copy the file and use the copy", n)
	}
	return err
}
