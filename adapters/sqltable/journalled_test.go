package sqltable

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// schema returns a text that changes when the triggers on papers are recreated.
func (d *database) schema() string {
	d.t.Helper()
	var all []string
	sql := "SELECT schema_version || '' FROM pragma_schema_version"
	if d.pg != nil {
		sql = "SELECT p.proname || ' ' || p.xmin FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = 'papers'::regclass ORDER BY 1"
	}
	d.rows(sql, func(r rowdb.Row) error {
		all = append(all, rowdb.String(r, 0))
		return nil
	})
	return strings.Join(all, ", ")
}

// TestJournalled: a table with its journal is one value. Its triggers follow the Table,
// and are otherwise not touched.
func TestJournalled(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {text})")
		table := Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}
		store := d.store()
		open := func(table Table) *Journalled {
			t.Helper()
			papers, err := d.provider(table).Journal(t.Context(), store, "papers", nil)
			must(t, err)
			return papers
		}
		open(table)
		first := d.schema()
		d.run("INSERT INTO papers VALUES (1, 'a')")
		open(table)
		if now := d.schema(); now != first || first == "" {
			t.Errorf("triggers that are as they should be are made anew: %s, then %s", first, now)
		}
		table.Where = "id <> 3"
		papers := open(table)
		second := d.schema()
		if second == first {
			t.Errorf("triggers of another Table are kept: %s", second)
		}
		if warning, err := papers.CheckChanger(papers); warning != "" || err != nil {
			t.Errorf("%q, %v", warning, err)
		}
		d.run("INSERT INTO papers VALUES (2, 'b')", "UPDATE papers SET title = 'c' WHERE id = 1", "DELETE FROM papers WHERE id = 2", "INSERT INTO papers VALUES (3, 'd')")

		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- store.Run(ctx) }()
		var changes []string
		papers.Watch(ctx, func() {
			changes = nil
			for c, err := range papers.Changes(t.Context(), resourcesync.Interval{}) {
				must(t, err)
				changes = append(changes, string(c.Type)+" "+c.Resource.URI)
			}
			if len(changes) == 4 {
				stop()
			}
		})
		must(t, <-stopped)
		const p = "https://example.org/"
		if got, want := strings.Join(changes, ", "), "created "+p+"1, created "+p+"2, updated "+p+"1, deleted "+p+"2"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestJournalledElsewhere: resources that move to other URIs need another journal, or
// Destinations would keep the resources at the old URIs.
func TestJournalledElsewhere(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY)")
		store := d.store()
		table := Table{Name: "papers", Key: "id", URI: "https://old.example/{id}"}
		_, err := d.provider(table).Journal(t.Context(), store, "papers", nil)
		must(t, err)
		first := d.schema()
		moved := table
		moved.URI = "https://new.example/{id}"
		_, err = d.provider(moved).Journal(t.Context(), store, "papers", nil)
		for _, want := range []string{table.URI, moved.URI, "another name for the set"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v does not mention %q", err, want)
			}
		}
		if now := d.schema(); now != first {
			t.Errorf("the triggers have been replaced: %s, then %s", first, now)
		}
		statements, err := d.triggers().Drop(t.Context(), table, "papers")
		must(t, err)
		must(t, d.triggers().Apply(t.Context(), statements))
		_, err = d.provider(moved).Journal(t.Context(), store, "papers 2", nil)
		must(t, err)
		d.run("INSERT INTO papers VALUES (1)")
		if all := d.pending(); len(all) != 1 || all[0].resource.URI != "https://new.example/1" {
			t.Errorf("%+v", all)
		}
	})
}

// TestJournalledRefuses refuses tables without triggers.
func TestJournalledRefuses(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY)")
		store := d.store()
		query := Table{Query: "SELECT id FROM papers", Key: "id", URI: "https://example.org/{id}"}
		if _, err := d.provider(query).Journal(t.Context(), store, "papers", nil); err == nil {
			t.Error("a query is journalled")
		}
	})
	d := mysqlDatabase(t)
	d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY)")
	if _, err := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}).Journal(t.Context(), nil, "papers", nil); err == nil {
		t.Error("a table of MySQL is journalled")
	}
}

// TestJournalledIsAProvider: the journal vouches for the table.
func TestJournalledIsAProvider(t *testing.T) {
	for _, engine := range []func(testing.TB) *database{postgresDatabase, sqliteDatabase} {
		d := engine(t)
		t.Run(d.name, func(t *testing.T) {
			d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY)")
			store := d.store()
			papers, err := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}).Journal(t.Context(), store, "papers", nil)
			must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan error)
			go func() { stopped <- store.Run(ctx) }()
			d.run("INSERT INTO papers VALUES (1), (2), (3)", "DELETE FROM papers WHERE id = 2")
			watching, enough := context.WithCancel(ctx)
			papers.Watch(watching, func() {
				n := 0
				for _, err := range papers.Changes(t.Context(), resourcesync.Interval{}) {
					must(t, err)
					n++
				}
				if n == 4 {
					enough()
				}
			})
			must(t, providertest.Test(t.Context(), papers, nil))
			stop()
			must(t, <-stopped)
		})
	}
}

// TestUpgradeOfTriggers: triggers that another version of this package has created are
// replaced, and the journal continues.
func TestUpgradeOfTriggers(t *testing.T) {
	t.Parallel()
	d := sqliteDatabase(t)
	d.run("CREATE TABLE papers (id INTEGER PRIMARY KEY, size INTEGER)")
	store := d.store()
	table := Table{Name: "papers", Key: "id", URI: "https://example.org/{id}", Length: "size"}
	p := d.provider(table)
	journal, err := store.Journal(t.Context(), "papers")
	must(t, err)
	w, err := newWatch(p.db.(engine.JournalDB), p.rel, journal, &JournalOptions{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, w.prover.define(t.Context()))
	other := w.prover.mine
	other.upsert = strings.ReplaceAll(other.upsert, other.Digest, "other")
	other.Digest = "other"
	other.statements = slices.DeleteFunc(other.statements, func(s string) bool { return strings.Contains(s, "_update_moved`") })
	must(t, w.prover.db.Update(t.Context(), func(c rowdb.Conn) error {
		_, err := w.prover.repair(t.Context(), c, true, "")
		return err
	}))
	since, err := journal.Since(t.Context())
	must(t, err)
	former := d.schema()
	d.run("INSERT INTO papers VALUES (1, 1), (2, 2)", "UPDATE papers SET size = 3")
	papers, err := p.Journal(t.Context(), store, "papers", nil)
	must(t, err)
	if now, err := papers.Since(t.Context()); err != nil || !now.Equal(since) {
		t.Errorf("%v, Since moved from %v to %v", err, since, now)
	}
	if d.schema() == former {
		t.Error("the triggers still belong to the other version")
	}
	d.run("UPDATE papers SET id = 3 WHERE id = 2")
	if got, want := d.take(), "c:1 c:2 u:1 u:2 d:2 c:3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
