package sqlitedb

import (
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

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
