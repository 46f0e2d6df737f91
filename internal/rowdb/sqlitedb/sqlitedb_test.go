package sqlitedb

import (
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestCloseEarly closes a database while something is under way, which must not
// keep the pool from being closed.
func TestCloseEarly(t *testing.T) {
	pool, err := openPool(filepath.Join(t.TempDir(), "test.db"), 4)
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Do(t.Context(), func(rowdb.Conn) error {
		return db.Close()
	})
	if err != nil {
		t.Error(err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	pool, err := sqlitex.NewPool(filepath.Join(t.TempDir(), "test.db"), sqlitex.PoolOptions{Flags: sqlite.OpenReadWrite | sqlite.OpenCreate})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), pool); err == nil || !strings.Contains(err.Error(), "journal_mode") {
		t.Errorf("a database without a write-ahead log: %v", err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}
