package rowdb

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
