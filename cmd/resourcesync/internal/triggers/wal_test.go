package triggers

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestGiveWALInVain: the wait for a lock that is never released is bounded.
func TestGiveWALInVain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cms.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{"CREATE TABLE articles (id INTEGER PRIMARY KEY)", "BEGIN IMMEDIATE"} {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	err = enableWAL(t.Context(), path, 3*walPoll, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "other programs have locked") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := enableWAL(ctx, path, time.Hour, io.Discard); err != context.Canceled {
		t.Error(err)
	}
}
