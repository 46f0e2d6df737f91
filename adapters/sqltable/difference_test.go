package sqltable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// fill gives the table 10 rows, whose sizes are ten times their keys.
func (w *watched) fill() {
	for id := 3; id <= 10; id++ {
		w.run(fmt.Sprintf("INSERT INTO papers VALUES (%d, %d)", id, 10*id))
	}
	w.run("ALTER TABLE papers ADD COLUMN gone {int}")
}

// TestOtherCondition: rows that a new condition excludes leave the lists at once, and are
// journalled as deleted; rows that it includes are journalled as created. Since does not
// change.
func TestOtherCondition(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		w := newWatched(t, d)
		w.fill()
		w.table.Where = "size <> 50"
		before := since(t, w.open(t))
		// One row leaves, and another one enters.
		w.table.Where = "size <> 30"
		w.open(t)
		if got := w.take(); got != "d:3 c:5" {
			t.Errorf("another condition: %q", got)
		}
		// A row that Deleted already marks.
		w.run("UPDATE papers SET gone = 1 WHERE id = 4")
		w.take()
		w.table.Deleted = "gone"
		papers := w.open(t)
		if got := w.take(); got != "d:4" {
			t.Errorf("Deleted: %q", got)
		}
		if got := keysOf(list(t, papers, resourcesync.Range{})); strings.Contains(got, "3 ") || strings.Contains(got, "4 ") {
			t.Errorf("listed: %s", got)
		}
		if at := since(t, papers); at != before {
			t.Errorf("the journal has started over at %v: %s", at, &w.log)
		}
		// If changes were missed in between, the journal restarts instead.
		base, on := w.named(t)
		w.run("DROP TRIGGER " + base + w.suffixes()[1] + on)
		w.table.Where = ""
		if papers = w.open(t); !since(t, papers).After(before) {
			t.Errorf("after an interruption: %s", &w.log)
		}
		// The former condition can no longer be queried.
		before = since(t, papers)
		w.table.Deleted, w.table.Where = "", "gone IS NULL"
		w.run("UPDATE papers SET gone = NULL")
		w.open(t)
		drop, err := w.triggers().Drop(t.Context(), w.table, "papers") // or SQLite keeps the column
		must(t, err)
		must(t, w.triggers().Apply(t.Context(), drop))
		w.run("ALTER TABLE papers DROP COLUMN gone")
		w.table.Where = ""
		if papers = w.open(t); !since(t, papers).After(before) {
			t.Errorf("without the column: %s", &w.log)
		}
	})
}

// TestOtherConditionHeld: the guard holds many deletions, across restarts, and rows that come
// back are never published as deleted.
func TestOtherConditionHeld(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		w := newWatched(t, d)
		w.fill()
		before := since(t, w.open(t))
		w.table.Where = "id < 5"
		for range 2 {
			papers := w.open(t)
			kept, err := papers.Kept(t.Context())
			if got := w.take(); err != nil || got != "" || kept.Held != 6 || kept.Until.IsZero() {
				t.Fatalf("%q, %+v, %v", got, kept, err)
			}
			if got := len(list(t, papers, resourcesync.Range{})); got != 4 {
				t.Errorf("%d rows are listed", got)
			}
			st, err := papers.Stat(t.Context(), resourcesync.Range{})
			if err != nil || !st.LastModified.After(before) {
				t.Errorf("caches do not notice that the lists have changed: %+v, %v", st, err)
			}
		}
		// One row comes back by the condition, and another one by an update.
		w.table.Where = "id < 6 OR size = 1"
		papers := w.open(t)
		w.run("UPDATE papers SET size = 1 WHERE id = 9", "DELETE FROM papers WHERE id = 10")
		held, err := papers.Journal.ConfirmDeletions(t.Context())
		if err != nil || held != 4 {
			t.Fatalf("%d deletions confirmed, %v", held, err)
		}
		gone := strings.Fields(w.take())
		slices.Sort(gone)
		if got := strings.Join(gone, " "); got != "d:10 d:6 d:7 d:8" {
			t.Errorf("%q", got)
		}
		if kept, err := papers.Kept(t.Context()); err != nil || kept.Held != 0 {
			t.Errorf("%+v, %v", kept, err)
		}
		if at := since(t, papers); at != before {
			t.Errorf("the journal has started over at %v: %s", at, &w.log)
		}
		var changes []string
		for c, err := range papers.Changes(t.Context(), resourcesync.Interval{}) {
			must(t, err)
			changes = append(changes, string(c.Type)+" "+strings.TrimLeft(c.Resource.Key, "0"))
		}
		if got := strings.Join(changes, ", "); got != "created 5, created 9" {
			t.Error(got)
		}
	})
}
