package sqltable

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// A watched is a journalled table that others interfere with.
type watched struct {
	*database
	table Table
	log   strings.Builder
	state *sqlstore.Store
}

// store returns the same store each time, because each keeps connections.
func (w *watched) store() *sqlstore.Store {
	if w.state == nil {
		w.state = w.database.store()
	}
	return w.state
}

func newWatched(t *testing.T, d *database) *watched {
	w := &watched{database: d, table: Table{Name: "papers", Key: "id", URI: "https://example.org/{id}", Length: "size"}}
	w.refill()
	return w
}

// refill makes the table and two rows.
func (w *watched) refill() {
	w.makeTable()
	w.run("INSERT INTO papers VALUES (1, 10), (2, 20)")
}

func (w *watched) makeTable() {
	w.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, size {int})")
}

// open starts a program with the table.
func (w *watched) open(t *testing.T) *Journalled {
	t.Helper()
	store := w.store()
	papers, err := w.provider(w.table).Journal(t.Context(), store, "papers", &JournalOptions{
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	must(t, err)
	return papers
}

func since(t *testing.T, j *Journalled) time.Time {
	t.Helper()
	at, err := j.Journal.Since(t.Context())
	must(t, err)
	return at
}

// named returns the names of the triggers of the journal, as DROP TRIGGER needs them.
func (w *watched) named(t *testing.T) (base, on string) {
	rel := w.provider(w.table).rel
	if w.pg != nil {
		on = " ON papers"
	}
	return baseName(rel, "papers"), on
}

// suffixes end the names of the triggers that every journal has.
func (w *watched) suffixes() []string {
	if w.pg != nil {
		return []string{"", "_update", "_truncate"}
	}
	return []string{"_insert", "_delete", "_update"}
}

// interruptions are interferences with a table that cause missed changes. Each also
// makes changes that no trigger sees.
var interruptions = map[string]func(w *watched, base, on string){
	"all triggers are dropped": func(w *watched, base, on string) {
		for _, s := range w.suffixes() {
			w.run("DROP TRIGGER " + base + s + on)
		}
		w.run("DELETE FROM papers WHERE id = 1", "UPDATE papers SET size = 21 WHERE id = 2")
	},
	"one trigger is dropped": func(w *watched, base, on string) {
		w.run("DROP TRIGGER "+base+w.suffixes()[1]+on, "DELETE FROM papers WHERE id = 1", "UPDATE papers SET size = 21 WHERE id = 2")
	},
	"the statements of Drop, then those of Create": func(w *watched, _, _ string) {
		drop, err := w.triggers().Drop(w.t.Context(), w.table, "papers")
		must(w.t, err)
		must(w.t, w.triggers().Apply(w.t.Context(), drop))
		w.run("DELETE FROM papers WHERE id = 1")
		w.apply(w.table, "papers")
	},
	"Remove": func(w *watched, _, _ string) {
		must(w.t, w.triggers().Remove(w.t.Context(), w.table, "papers"))
		w.run("UPDATE papers SET size = 22 WHERE id = 2")
		anew, err := w.triggers().Install(w.t.Context(), w.store(), w.table, "papers")
		if err != nil || anew == "" {
			w.t.Error(anew, err)
		}
	},
	"a trigger does something else": func(w *watched, base, on string) {
		other := "CREATE TRIGGER " + base + "_delete AFTER DELETE ON papers WHEN 0 BEGIN SELECT 1; END"
		if w.pg != nil {
			other = "CREATE TRIGGER " + base + "_update AFTER UPDATE ON papers FOR EACH ROW WHEN (false) EXECUTE FUNCTION " + base + "()"
		}
		w.session(func(exec func(string) error) {
			must(w.t, exec("DROP TRIGGER "+base+w.suffixes()[1]+on))
			must(w.t, exec(other))
		})
		w.run("DELETE FROM papers WHERE id = 1", "UPDATE papers SET size = 21 WHERE id = 2")
	},
	"the table is made again": func(w *watched, _, _ string) {
		w.run("DROP TABLE papers")
		w.makeTable()
		w.run("INSERT INTO papers VALUES (7, 70)")
	},
	"postgres: triggers are disabled for a moment": func(w *watched, _, _ string) {
		w.run("ALTER TABLE papers DISABLE TRIGGER ALL", "DELETE FROM papers WHERE id = 1", "ALTER TABLE papers ENABLE TRIGGER ALL")
	},
	"postgres: a trigger is disabled and enabled as before": func(w *watched, base, _ string) {
		w.run("ALTER TABLE papers DISABLE TRIGGER "+base, "DELETE FROM papers WHERE id = 1", "ALTER TABLE papers ENABLE ALWAYS TRIGGER "+base)
	},
	"postgres: the function does nothing for a moment": func(w *watched, base, _ string) {
		var text string
		must(w.t, w.pg.QueryRow(w.t.Context(), "SELECT pg_get_functiondef($1::regproc)", base).Scan(&text))
		w.run("CREATE OR REPLACE FUNCTION "+base+"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'", "DELETE FROM papers WHERE id = 1", text)
	},
	"postgres: the function is dropped": func(w *watched, base, _ string) {
		w.run("DROP FUNCTION "+base+" CASCADE", "DELETE FROM papers WHERE id = 1")
	},
	"sqlite: a unique index by which REPLACE removes rows": func(w *watched, _, _ string) {
		w.run("CREATE UNIQUE INDEX sizes ON papers (size)", "REPLACE INTO papers VALUES (3, 10)")
	},
}

// TestInterrupted: changes that a journal may have missed make it restart, when the
// program starts and while it runs. Its triggers are then the original ones.
func TestInterrupted(t *testing.T) {
	for name, interrupt := range interruptions {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, d *database) {
				if engine, _, only := strings.Cut(name, ":"); only && engine != d.name {
					t.Skip("not of this engine")
				}
				w := newWatched(t, d)
				for _, running := range []bool{false, true} {
					papers := w.open(t)
					before := since(t, papers)
					w.log.Reset()
					base, on := w.named(t)
					interrupt(w, base, on)
					if running {
						v, err := papers.watch.check(t.Context(), false, false)
						if err != nil || v.reason == "" && name != "Remove" { // Install has started it over
							t.Errorf("running: %+v, %v", v, err)
						}
					} else {
						papers = w.open(t)
					}
					if !since(t, papers).After(before) || name != "Remove" && !strings.Contains(w.log.String(), "starts over") {
						t.Errorf("running %v: the journal has not started over: %s", running, &w.log)
					}
					proof, err := papers.Proof(t.Context())
					if err != nil || proof.Reason == "" || !proof.Restarted.Equal(since(t, papers)) {
						t.Errorf("%+v, %v", proof, err)
					}
					w.run("DELETE FROM rs_pending", "INSERT INTO papers VALUES (9, 90)", "UPDATE papers SET size = 91 WHERE id = 9", "DELETE FROM papers WHERE id = 9")
					if got := w.take(); got != "c:9 u:9 d:9" {
						t.Errorf("running %v: the triggers are not those that they were: %q", running, got)
					}
					// From now on, no change is missed.
					before = since(t, papers)
					w.log.Reset()
					w.open(t)
					if since(t, papers) != before || !strings.Contains(w.log.String(), "has seen every change") {
						t.Errorf("running %v: it starts over once more: %s", running, &w.log)
					}
					w.run("DROP TABLE papers")
					w.refill()
				}
			})
		})
	}
}

// TestRenamedColumn: as long as a named column has another name, the journal is unhealthy.
func TestRenamedColumn(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		w := newWatched(t, d)
		papers := w.open(t)
		w.run("ALTER TABLE papers RENAME COLUMN size TO bytes")
		_, _ = papers.watch.check(t.Context(), false, false)
		if err := papers.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "size") {
			t.Errorf("renamed: %v", err)
		}
		if w.pg == nil {
			return // SQLite has rewritten the triggers, and refuses
		}
		w.run("ALTER TABLE papers RENAME COLUMN bytes TO size")
		_, _ = papers.watch.check(t.Context(), false, false)
		if err := papers.Health(t.Context()); err != nil {
			t.Errorf("renamed back: %v", err)
		}
	})
}

// TestNotInterrupted: an event that cannot have hidden a change does not restart the
// journal.
func TestNotInterrupted(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		w := newWatched(t, d)
		papers := w.open(t)
		before := since(t, papers)
		for name, act := range map[string]func(){
			"a restart":     func() { papers = w.open(t) },
			"an index":      func() { w.run("CREATE INDEX sizes ON papers (size)") },
			"a column":      func() { w.run("ALTER TABLE papers ADD COLUMN more {text}") },
			"another table": func() { w.run("CREATE TABLE others (id {int})") },
			"another view":  func() { w.run("CREATE VIEW smalls AS SELECT id FROM papers") },
			"statistics":    func() { w.run("ANALYZE papers") },
			"our own triggers again": func() {
				anew, err := w.triggers().Install(t.Context(), w.store(), w.table, "papers")
				if err != nil || anew != "" {
					t.Error(anew, err)
				}
			},
			"our own triggers dropped and made again": func() {
				must(t, w.triggers().Remove(t.Context(), w.table, "papers"))
				if _, err := papers.watch.check(t.Context(), false, false); err == nil {
					t.Error("a journal without triggers is proven")
				}
				papers = w.open(t)
			},
			"a rewrite": func() {
				if w.pg != nil {
					w.run("VACUUM FULL papers")
				} else {
					w.run("VACUUM")
				}
			},
		} {
			act()
			v, err := papers.watch.check(t.Context(), false, false)
			if err != nil || v.reason != "" {
				t.Errorf("%s: %+v, %v", name, v, err)
			}
			papers = w.open(t)
			if at := since(t, papers); at != before {
				t.Errorf("%s: the journal has started over at %v: %s", name, at, &w.log)
			}
		}
		if strings.Contains(w.log.String(), "starts over") {
			t.Error(&w.log)
		}
	})
}

// TestPendingBefore: a change that was recorded before others were missed comes before the new
// beginning. If it came after that, it would be taken for the newest state of its row.
func TestPendingBefore(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		for _, byHand := range []bool{false, true} {
			w := newWatched(t, d)
			papers := w.open(t)
			base, on := w.named(t)
			w.run("UPDATE papers SET size = 11 WHERE id = 1", "DELETE FROM papers WHERE id = 2", "DROP TRIGGER "+base+w.suffixes()[1]+on,
				"UPDATE papers SET size = 12 WHERE id = 1", "INSERT INTO papers VALUES (3, 30)")
			if byHand {
				must(t, papers.Restart(t.Context(), "a test says so"))
			} else {
				papers = w.open(t)
			}
			for c, err := range papers.Changes(t.Context(), resourcesync.Interval{From: since(t, papers)}) {
				t.Errorf("by hand %v: %v, %v", byHand, c, err)
			}
			if got := w.take(); got != "" {
				t.Errorf("by hand %v: %s is pending", byHand, got)
			}
			w.run("DROP TABLE papers")
		}
	})
}

// TestInterruptedBecause: a table that was recreated is not taken for another database.
func TestInterruptedBecause(t *testing.T) {
	signs := func(database, table string) *engine.Signs {
		return &engine.Signs{History: map[string]string{"database": database, engine.TableNumber: table}}
	}
	before := newProof("1", signs("a", "10"))
	for _, test := range []struct{ database, table, want string }{
		{"a", "10", ""},
		{"a", "11", "the table was dropped and made again, or restored: its number was 10, and is 11"},
		{"b", "11", "the database is another one, or was restored: its database was a, and is b"},
	} {
		if got := before.interrupted("1", signs(test.database, test.table), false); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.database, test.table, got, test.want)
		}
	}
}
