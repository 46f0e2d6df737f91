package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// walPatience is how long triggers waits for others to let go of a file, and
// walGlance how often it looks.
const (
	walPatience = 10 * time.Second
	walGlance   = 50 * time.Millisecond
)

// giveWAL gives the SQLite file of a host the write-ahead log that a store needs,
// and says so on stderr, because the file keeps it: it is the host's, and others use
// it. SQLite itself does not wait for whoever is writing meanwhile, so this does, for
// as long as patience.
func giveWAL(ctx context.Context, path string, patience time.Duration, stderr io.Writer) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("--db %q: %w", path, err)
	}
	defer conn.Close()
	conn.SetBusyTimeout(0)
	for deadline := time.Now().Add(patience); ; {
		given, err := setWAL(conn)
		switch {
		case given:
			_, err = fmt.Fprintf(stderr, "resourcesync: triggers: %q has a write-ahead log from now on (journal_mode=wal), so that the state, which is kept in it, and those who use the table do not wait for each other; all of them must be on this machine.\n", path)
			return err
		case sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("--db %q: it cannot be given the write-ahead log that the state needs, because others have not let go of it for %v: %w", path, patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(walGlance):
		}
	}
}

// setWAL gives a database a write-ahead log, and reports whether it had none.
func setWAL(conn *sqlite.Conn) (given bool, err error) {
	var mode string
	read := &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { mode = s.ColumnText(0); return nil }}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode", read); err != nil || mode == "wal" {
		return false, err
	}
	// Where there can be none the mode stays, and the store says what is wrong.
	err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode=wal", read)
	return err == nil && mode == "wal", err
}
