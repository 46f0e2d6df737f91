package sqltable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestSQLiteReplaceAmongTriggers: rows that REPLACE removes are journalled as deleted,
// although the host's own triggers write to the table meanwhile, whether they were
// created before or after ours.
func TestSQLiteReplaceAmongTriggers(t *testing.T) {
	t.Parallel()
	table := Table{Name: "things", Key: "id", URI: "https://example.org/{slug}", Type: "kind"}
	touch := []string{
		"CREATE TRIGGER a_touch AFTER INSERT ON things BEGIN UPDATE things SET touched = 1 WHERE id = NEW.id; END",
		"CREATE TRIGGER a_touch_again AFTER UPDATE ON things WHEN NEW.touched < 2 BEGIN UPDATE things SET touched = 2 WHERE id = NEW.id; END",
		"CREATE TRIGGER a_more AFTER INSERT ON things WHEN NEW.id < 10 BEGIN INSERT INTO things (id, slug) VALUES (NEW.id + 10, NEW.id); END",
	}
	for name, before := range map[string]bool{"made before": true, "made after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sqliteDatabase(t)
			d.run("CREATE TABLE things (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, touched INTEGER NOT NULL DEFAULT 0, kind TEXT)")
			if before {
				d.run(touch...)
			}
			d.journal(table, "papers")
			if !before {
				d.run(touch...)
			}
			p, known := d.provider(table), map[string]resourcesync.Resource{}
			for _, tt := range []struct{ do, want string }{
				{"INSERT INTO things (id, slug) VALUES (1, 'a'), (2, 'b')", "c:1 c:11 c:12 c:2"},
				{"REPLACE INTO things (id, slug) VALUES (3, 'a')", "c:13 c:3 d:1"},
				{"UPDATE OR REPLACE things SET slug = 'b' WHERE id = 3", "c:3 d:2 d:3"},
				{"INSERT OR IGNORE INTO things (id, slug) VALUES (4, 'b')", ""},
				{"INSERT INTO things (id, slug) VALUES (4, 'b') ON CONFLICT DO NOTHING", ""},
				{"UPDATE things SET id = 30 WHERE id = 3", "c:30 d:3"},
				{"INSERT INTO things (id, slug) VALUES (30, 'c') ON CONFLICT DO UPDATE SET slug = 'c'", "c:30 d:30"},
				{"INSERT OR IGNORE INTO things (id, slug) VALUES (4, 'c')", ""},
				{"REPLACE INTO things (id, slug) VALUES (30, 'e')", "c:30 d:30"},
				{"REPLACE INTO things (id, slug) VALUES (31, 'e')", "c:31 d:30"},
				{"UPDATE things SET id = 30 WHERE id = 31", "c:30 d:31"},
				{"DELETE FROM things WHERE id = 30", "d:30"},
				{"INSERT INTO things (id, slug) VALUES (40, 'd')", "c:40"},
			} {
				d.run(tt.do)
				follow(known, d.pending())
				if err := sameURIs(t, known, p); err != nil {
					t.Errorf("%s: %v", tt.do, err)
				}
				if got := sorted(d.take()); got != tt.want {
					t.Errorf("%s: %q, want %q", tt.do, got, tt.want)
				}
			}
		})
	}
}

// sorted sorts words in the order in which SQLite runs triggers.
func sorted(words string) string {
	all := strings.Fields(words)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestSQLiteWideTable: a change of any column is journalled, for any number of columns.
func TestSQLiteWideTable(t *testing.T) {
	t.Parallel()
	d := sqliteDatabase(t)
	const columns = 1999 // beside the key: the most that SQLite has
	var list strings.Builder
	for i := range columns {
		fmt.Fprintf(&list, ", c%d", i)
	}
	d.run("CREATE TABLE things (id INTEGER PRIMARY KEY" + list.String() + ")")
	d.journal(things, "papers")
	d.play([][2]string{
		{"INSERT INTO things (id) VALUES (1)", "c:1"},
		{"UPDATE things SET c0 = 1", "u:1"},
		{fmt.Sprintf("UPDATE things SET c%d = 1", columns-1), "u:1"},
		{fmt.Sprintf("UPDATE things SET c%d = 1", columns-1), ""},
	}...)
}

// TestSQLiteNoSet: without the set, the host's own writes fail, including those that
// ignore constraint violations.
func TestSQLiteNoSet(t *testing.T) {
	t.Parallel()
	d := sqliteDatabase(t)
	d.run("CREATE TABLE things (id INTEGER PRIMARY KEY, slug TEXT UNIQUE)", "INSERT INTO things VALUES (1, 'a'), (2, 'b')")
	d.journal(things, "papers")
	d.run("DELETE FROM rs_set")
	for _, do := range []string{
		"INSERT INTO things VALUES (3, 'c')", "INSERT OR IGNORE INTO things VALUES (3, 'c')", "REPLACE INTO things VALUES (3, 'a')",
		"UPDATE things SET id = 3 WHERE id = 1", "UPDATE OR IGNORE things SET id = 3 WHERE id = 1", "DELETE FROM things",
	} {
		if err := d.exec(do); err == nil || !strings.Contains(err.Error(), "there is no set") {
			t.Errorf("%s: %v", do, err)
		}
	}
	n := 0
	d.rows("SELECT id FROM things", func(r rowdb.Row) error { n++; return nil })
	if n != 2 {
		t.Errorf("%d rows are there", n)
	}
}

// TestSQLiteLengths: text in a Length column that is not a number is not listed as a length, neither in the
// lists nor in the journal.
func TestSQLiteLengths(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"INTEGER", ""} {
		d := sqliteDatabase(t)
		d.run("CREATE TABLE papers (id INTEGER PRIMARY KEY, size " + kind + ")")
		table := Table{Name: "papers", Key: "id", URI: "https://example.org/{id}", Length: "size"}
		d.journal(table, "papers")
		d.run("INSERT INTO papers VALUES (1, 5), (2, 'abc'), (3, '12'), (4, ''), (5, x'37'), (6, NULL), (7, 8.0), (8, 8.5), (9, '-')")
		p := d.provider(table)
		var got []string
		for _, r := range list(t, p, resourcesync.Range{}) {
			n, _ := r.Length.Bytes()
			got = append(got, fmt.Sprint(n))
		}
		if all, want := strings.Join(got, " "), "5 -1 12 -1 -1 -1 8 -1 -1"; all != want || p.Omitted().Fields != 5 {
			t.Errorf("type %q: lengths %s, want %s; omitted %+v", kind, all, want, p.Omitted())
		}
		must(t, sameSet(t, replay(d.pending()), p))
	}
}
