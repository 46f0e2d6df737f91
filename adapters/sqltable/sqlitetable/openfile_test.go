package sqlitetable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
)

// TestOpenFile: a file that does not exist is not created, and Close closes the database.
func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	table := sqltable.Table{Name: "paper", Key: "id", URI: "https://example.org/papers/{id}"}
	if _, err := sqlitetable.OpenFile(t.Context(), path, table); err == nil {
		t.Error("a file that does not exist was opened")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was created: ", err)
	}
	conn, err := sqlite.OpenConn(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, "CREATE TABLE paper (id INTEGER PRIMARY KEY); INSERT INTO paper VALUES (1)", nil); err != nil {
		t.Fatal(err)
	}
	papers, err := sqlitetable.OpenFile(t.Context(), path, table)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (n int, err error) {
		for _, err := range papers.Resources(t.Context(), resourcesync.Range{}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := read(); n != 1 || err != nil {
		t.Errorf("%d resources, %v", n, err)
	}
	if err := papers.Close(); err != nil {
		t.Error(err)
	}
	if _, err := read(); err == nil {
		t.Error("the database is still open")
	}
	if _, err := sqlitetable.OpenFile(t.Context(), path, sqltable.Table{Name: "nowhere", Key: "id", URI: table.URI}); err == nil {
		t.Error("a table that does not exist was opened")
	}
}
