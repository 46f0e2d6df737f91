package sqlitedb

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestOpenTogether: a file can be opened while another process gives it a write-ahead log.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, sql := range []string{"CREATE TABLE a (b)", "BEGIN IMMEDIATE"} {
		if err := sqlitex.ExecuteTransient(other, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan error)
	go func() {
		db, err := Open(t.Context(), path, 2)
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened while another process writes: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := sqlitex.ExecuteTransient(other, "COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestCloseEarly closes a database during an operation, which must not keep the pool
// from being closed.
func TestCloseEarly(t *testing.T) {
	pool, err := openPool(t.Context(), filepath.Join(t.TempDir(), "test.db"), 4)
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

// TestCloseRemovesLog: the last user of a file leaves only the file, without its log. An
// earlier one leaves the log to the others.
func TestCloseRemovesLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() rowdb.DB {
		t.Helper()
		db, err := Open(t.Context(), path, 1)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	first, second := open(), open()
	err := first.Update(t.Context(), func(c rowdb.Conn) error { return c.Script(t.Context(), "CREATE TABLE a (b); INSERT INTO a VALUES (1)") })
	if err != nil {
		t.Fatal(err)
	}
	for i, db := range []rowdb.DB{first, second} {
		n, err := rowdb.One(t.Context(), db, rowdb.Int, "SELECT b FROM a")
		if err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		for range 50 { // as at the end of a program, which almost certainly interrupts the connection
			ctx, cancel := context.WithCancel(t.Context())
			_ = db.Do(ctx, func(rowdb.Conn) error { cancel(); return nil })
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if found, err := filepath.Glob(path + "-*"); err != nil || (len(found) > 0) != (i == 0) {
			t.Errorf("after closing %d of 2: %q, %v", i+1, found, err)
		}
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
