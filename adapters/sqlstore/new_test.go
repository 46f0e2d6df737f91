package sqlstore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

var update = flag.Bool("update", false, "write the script that makes the tables of a new SQLite state")

// TestNewTables: new.sql makes the tables that all migrations make, with the same numbers in rs_migration, and no
// other rows. -update writes it.
func TestNewTables(t *testing.T) {
	migrated := newSQLite(t)
	migrated.made(t, -1, nil)
	want := statements(t, migrated)
	path := filepath.Join("sqlitestore", "migrations", "new.sql")
	if *update {
		script := "-- The tables as the numbered scripts make them, for a new state. TestNewTables -update writes this file.\n\n" + strings.Join(want, "\n\n") + "\n"
		if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		return // the file is embedded by the next build
	}
	made := newSQLite(t)
	made.open(t, nil)
	got := statements(t, made)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: write it with -update: a new state has\n%s\ninstead of\n%s", path, strings.Join(got[i:], "\n"), strings.Join(want[i:], "\n"))
		}
	}
}

// statements returns SQL that makes the tables of db and their rows, apart from the table rs_migration, which exists.
func statements(t *testing.T, d database) []string {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), string(d), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := rowdb.All(t.Context(), db, func(r rowdb.Row) string { return rowdb.Text(r) + ";" },
		"SELECT sql FROM sqlite_master WHERE name GLOB 'rs_*' AND name <> 'rs_migration' ORDER BY type <> 'table', tbl_name, name")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := rowdb.All(t.Context(), db, rowdb.Text, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil || !slices.Contains(tables, "rs_migration") {
		t.Fatalf("%q, %v", tables, err)
	}
	for _, table := range tables {
		if table == "rs_migration" {
			numbers, err := rowdb.All(t.Context(), db, func(r rowdb.Row) string { return fmt.Sprintf("(%d)", r.Int(0)) },
				"SELECT number FROM rs_migration ORDER BY abs(number), number")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, "INSERT INTO rs_migration (number) VALUES "+strings.Join(numbers, ", ")+";")
		} else if n, err := rowdb.One(t.Context(), db, rowdb.Int, "SELECT count(*) FROM "+table); err != nil || n > 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
	return all
}
