package triggers

import (
	"context"
	"fmt"
	"io"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// walTimeout bounds the time that triggers waits for other users of a file, and
	// walPoll is the interval between its attempts.
	walTimeout = 10 * time.Second
	walPoll    = 50 * time.Millisecond
)

// enableWAL switches the SQLite file of a host to the write-ahead log that a store needs.
// It reports that on stderr, because the file belongs to the host and stays in this
// mode. SQLite does not wait for a writer here, so enableWAL does, until the timeout.
func enableWAL(ctx context.Context, path string, timeout time.Duration, stderr io.Writer) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("--db %q: %w", path, err)
	}
	defer conn.Close()
	conn.SetBusyTimeout(0)
	for deadline := time.Now().Add(timeout); ; {
		given, err := setWAL(conn)
		switch {
		case given:
			_, err = fmt.Fprintf(stderr, "resourcesync: triggers: %q now has a write-ahead log (journal_mode=wal), so that the state in it and the users of the table do not block each other; all of them must run on this machine.\n", path)
			return err
		case sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("--db %q: the state needs a write-ahead log in this file, which other programs have locked for %v: %w", path, timeout, err)
		}
		if err := background.Sleep(ctx, walPoll); err != nil {
			return err
		}
	}
}

// setWAL switches a database to a write-ahead log, and reports whether it had none.
func setWAL(conn *sqlite.Conn) (given bool, err error) {
	var mode string
	read := &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { mode = s.ColumnText(0); return nil }}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode", read); err != nil || mode == "wal" {
		return false, err
	}
	// Where a write-ahead log is impossible the mode stays, and the store reports it.
	err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode=wal", read)
	return err == nil && mode == "wal", err
}
