package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MakePrivate makes an empty file at path that only its owner can read, if there is
// none: SQLite makes one that everybody can, and gives its log the same permissions.
//
// A file that is there already is not opened. Closing it would take from this process
// the locks that SQLite has on it.
func MakePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("it cannot be made: %w", failed.Err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// CheckLinks returns an error if the file at path has several names. SQLite finds the
// log and the locks of a database by its name: two processes that use different names
// would know nothing of each other and damage it.
func CheckLinks(path string) error {
	n, err := links(path)
	if err == nil && n > 1 {
		err = fmt.Errorf("the file has %d names (hard links), and only one may be in use; delete the other names, or copy the file and give the copy", n)
	}
	return err
}
