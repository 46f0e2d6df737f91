package sqlitedb

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TryLock implements [rowdb.DB] with the write lock of an empty database beside the
// file. SQLite takes file locks on every system, and the system frees them when the
// process dies.
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
