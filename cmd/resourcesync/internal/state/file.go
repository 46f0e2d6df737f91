package state

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// FolderFile returns a path that no other folder has, and creates its parent
// folder.
func FolderFile(folder string) (string, error) {
	const maxName = 50
	name := filepath.Base(folder)
	return CacheFile(name[:min(len(name), maxName)], folder)
}

// SiteFile returns a path that no other website has, and creates its parent
// folder.
func SiteFile(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", err
	}
	return CacheFile(u.Host, baseURL)
}

// CacheFile returns the path of a file in the user's cache folder, and creates that
// folder. The path depends on id. name tells people what the file is, so that they know
// what they may delete.
func CacheFile(name, id string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "resourcesync")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("%q: %w", cache, paths.Reason(err))
	}
	return filepath.Join(cache, fmt.Sprintf("%s-%.6x.db", odd.ReplaceAllString(name, "_"), sha256.Sum256([]byte(id)))), nil
}

// odd matches characters that some systems do not allow in file names.
var odd = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// CheckFile returns an error if the file at path is not a state, before anything is
// written to it, or cannot be written to: SQLite would open it read-only.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return paths.Reason(err)
	case !info.Mode().IsRegular():
		return errors.New("is not a file")
	}
	if err := sqlitedb.CheckLinks(path); err != nil {
		return paths.Reason(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return paths.Reason(err)
	}
	f.Close()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer conn.Close()
	tables, sets := 0, 0
	err = sqlitex.ExecuteTransient(conn, "SELECT count(*), count(CASE name WHEN 'rs_set' THEN 1 END) FROM sqlite_master", &sqlitex.ExecOptions{
		ResultFunc: func(row *sqlite.Stmt) error {
			tables, sets = row.ColumnInt(0), row.ColumnInt(1)
			return nil
		},
	})
	switch {
	case sqlite.ErrCode(err).ToPrimary() == sqlite.ResultNotADB:
		return errors.New("is not an SQLite database")
	case err == nil && tables > 0 && sets == 0:
		return errors.New("is a database of another program")
	}
	return err
}

// lockFile locks the state at path for this process. Two processes would each
// rewrite its URIs to their own base URL, again and again.
//
// The lock is SQLite's, on an empty database beside the file. It works on every system,
// which releases it when the process dies.
func lockFile(path string) (*sqlite.Conn, error) {
	path += "-serve"
	if err := sqlitedb.MakePrivate(path); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(0)
	err = sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil)
	if err == nil {
		return conn, nil
	}
	conn.Close()
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
		err = exit.ErrInUse
	}
	return nil, err
}
