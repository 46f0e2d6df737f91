package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
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

// copies are modules with a copy of SQLite other than modernc.org/sqlite, which
// zombiezen.com/go/sqlite and this package use. POSIX locks belong to a process: when
// one copy closes a file, the locks of the other are lost, and both write at once.
var copies = []string{
	"crawshaw.io/sqlite",
	"github.com/bvinc/go-sqlite-lite",
	"github.com/eatonphil/gosqlite",
	"github.com/go-llsqlite/crawshaw",
	"github.com/mattn/go-sqlite3",
	"github.com/mutecomm/go-sqlcipher/v4",
	"github.com/ncruces/go-sqlite3",
	"github.com/tailscale/sqlite",
	"github.com/tursodatabase/go-libsql",
}

var warnOnce sync.Once

// WarnOfCopies logs a warning if this program contains another copy of SQLite, once per
// process. Call it when the host opens a database that it uses itself.
func WarnOfCopies(log *slog.Logger) {
	warnOnce.Do(func() {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return
		}
		if found := otherCopies(info.Deps); len(found) > 0 {
			log.Warn("sqlite: the program contains another copy of SQLite: if it opens a file that zombiezen.com/go/sqlite has open, it destroys the file; "+
				"for database/sql, use modernc.org/sqlite", "modules", found)
		}
	})
}

// otherCopies returns the paths of the modules in deps that have another copy of SQLite.
func otherCopies(deps []*debug.Module) []string {
	var found []string
	for _, m := range deps {
		if m.Replace != nil && slices.Contains(copies, m.Replace.Path) {
			m = m.Replace
		}
		if slices.Contains(copies, m.Path) {
			found = append(found, m.Path)
		}
	}
	return found
}
