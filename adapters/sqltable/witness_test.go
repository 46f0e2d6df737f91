package sqltable

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// openWith starts a program with a witness in a file; path may be empty.
func (w *watched) openWith(t *testing.T, path string) *Journalled {
	t.Helper()
	papers, err := w.provider(w.table).Journal(t.Context(), w.store(), "papers", &JournalOptions{
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Witness: path,
	})
	must(t, err)
	return papers
}

// publish makes a change that is published.
func (w *watched) publish(t *testing.T, j *Journalled, sql string) {
	t.Helper()
	w.run(sql)
	_, err := j.Journal.ConfirmDeletions(t.Context()) // numbers all changes
	must(t, err)
	_, err = j.Stat(t.Context(), resourcesync.Range{})
	must(t, err)
}

// TestRestored: if a database lacks published changes, the journal restarts after every time
// that readers have seen: while the process runs, and with its witness at the next start.
func TestRestored(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		w := newWatched(t, d)
		path := filepath.Join(t.TempDir(), "witness")
		for _, when := range []string{"running", "ended", "ended before the change has a number"} {
			running := when == "running"
			papers := w.openWith(t, path)
			w.publish(t, papers, "UPDATE papers SET size = size + 1 WHERE id = 1")
			if _, err := papers.watch.check(t.Context(), false, false); err != nil { // the witness learns of it
				t.Fatal(err)
			}
			var backup int64
			w.rows("SELECT last FROM rs_set", func(r rowdb.Row) error { backup = r.Int(0); return nil })
			if running || when == "ended" {
				w.publish(t, papers, "DELETE FROM papers WHERE id = 2")
			} else { // the Resource List shows it
				w.run("DELETE FROM papers WHERE id = 2")
			}
			published, err := papers.Stat(t.Context(), resourcesync.Range{})
			must(t, err)
			if !running {
				must(t, papers.Close())
			}
			// The backup is restored.
			w.run("INSERT INTO papers VALUES (2, 20)", "DELETE FROM rs_pending")
			w.exec("DELETE FROM rs_change WHERE at > $1", backup)
			w.exec("UPDATE rs_set SET last = $1", backup)
			if running {
				v, err := papers.watch.check(t.Context(), false, false)
				if err != nil || !strings.Contains(v.reason, "restored") {
					t.Errorf("%+v, %v", v, err)
				}
			} else {
				papers = w.openWith(t, path)
			}
			if at := since(t, papers); !at.After(published.LastModified) {
				t.Errorf("%s: the journal begins at %v, and readers have seen %v: %s", when, at, published.LastModified, &w.log)
			}
			w.run("DELETE FROM rs_pending")
		}
	})
}

// TestTimeline: after a replica of PostgreSQL has taken over, the journal continues only if
// a witness shows that no change was lost.
func TestTimeline(t *testing.T) {
	d := postgresDatabase(t)
	w := newWatched(t, d)
	path := filepath.Join(t.TempDir(), "witness")
	takeOver := func() {
		w.run(`UPDATE rs_cover SET proof = regexp_replace(proof, '"timeline":"[0-9A-F]*"', '"timeline":"00000099"')`)
	}
	papers := w.openWith(t, path)
	before := since(t, papers)
	w.publish(t, papers, "UPDATE papers SET size = 11 WHERE id = 1")
	takeOver()
	v, err := papers.watch.check(t.Context(), false, false)
	if err != nil || v.reason != "" {
		t.Errorf("while it runs: %+v, %v", v, err)
	}
	w.publish(t, papers, "UPDATE papers SET size = 12 WHERE id = 1")
	must(t, papers.Close())
	takeOver()
	if papers = w.openWith(t, path); since(t, papers) != before {
		t.Errorf("with a witness: %s", &w.log)
	}
	takeOver() // the process was killed, so it may have published more than its witness knows
	if papers = w.openWith(t, path); !since(t, papers).After(before) {
		t.Errorf("with the witness of a killed process: %s", &w.log)
	}
	before = since(t, papers)
	takeOver()
	if papers = w.openWith(t, ""); !since(t, papers).After(before) {
		t.Errorf("without a witness: %s", &w.log)
	}
	w.log.Reset()
	if _, err := w.provider(w.table).Journal(t.Context(), w.store(), "others", &JournalOptions{Witness: path}); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("the witness of another journal: %v", err)
	}
}
