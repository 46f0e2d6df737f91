package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// writing creates a host's database file, which another connection writes to until end
// is called.
func writing(t *testing.T) (path string, end func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "cms.db")
	sql(t, path, "CREATE TABLE articles (id INTEGER PRIMARY KEY)")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	must(t, sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil))
	return path, func() { must(t, sqlitex.ExecuteTransient(conn, "COMMIT", nil)) }
}

// TestTriggersGiveWAL: --apply says once that it has switched the file to a write-ahead
// log, and waits for other writers. A command that only prints statements does not
// switch it.
func TestTriggersGiveWAL(t *testing.T) {
	t.Parallel()
	path, end := writing(t)
	args := []string{"--db", path, "--set", "papers", "--table", "articles", "--key", "id", "--uri", "https://example.org/{id}"}
	if status, _, stderr := runTriggersCommand(t, args...); status != 0 || stderr != "" {
		t.Errorf("printing: status %d, %q", status, stderr)
	}
	ended := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { end(); close(ended) })
	status, _, stderr := runTriggersCommand(t, append(args, "--apply")...)
	<-ended
	if line, rest, _ := strings.Cut(stderr, "\n"); status != 0 || rest != "" || !strings.HasPrefix(line, "resourcesync: triggers: ") || !strings.Contains(line, "journal_mode=wal") {
		t.Errorf("status %d, %q", status, stderr)
	}
	for _, flag := range []string{"--apply", "--drop"} {
		if status, _, stderr := runTriggersCommand(t, append(args, flag)...); status != 0 || stderr != "" {
			t.Errorf("%s again: status %d, %q", flag, status, stderr)
		}
	}
}
