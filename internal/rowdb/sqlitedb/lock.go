package sqlitedb

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TryLock takes the lock of an empty database of its own beside the file. SQLite
// has no other locks than those of files, but it knows how to take these on
// every system, and the system gives them back when the process dies.
func (db *database) TryLock(ctx context.Context, n int32, f func(context.Context) error) (bool, error) {
	path := fmt.Sprintf("%s-lock%d", db.path, n)
	if err := MakePrivate(path); err != nil {
		return false, fmt.Errorf("rowdb: lock %s: %w", path, err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return false, explain(fmt.Errorf("rowdb: lock %s: %w", path, err), path)
	}
	defer conn.Close()
	conn.SetBusyTimeout(0)
	err = sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil)
	switch {
	case err == nil:
		return true, f(ctx)
	case sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy:
		return false, nil
	}
	return false, explain(fmt.Errorf("rowdb: lock %s: %w", path, err), path)
}
