package sqltable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestTriggersReplay changes a table at random. After each commit, the journal yields
// the same set as the table. -short leaves out recursive triggers of SQLite.
func TestTriggersReplay(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, d *database, first string) {
		d.makeArticles()
		d.journal(articles, "papers")
		p := d.provider(articles)
		set, known := map[string]resourcesync.Resource{}, map[string]resourcesync.Resource{}
		rnd := rand.New(rand.NewPCG(1, 2))
		changes := 0
		d.session(func(do func(string) error) {
			var done []string
			exec := func(sql string) error {
				done = append(done, sql)
				return do(sql)
			}
			must(t, exec(first))
			for round := range 50 {
				done = done[:0]
				must(t, exec("BEGIN"))
				for range 1 + rnd.IntN(4) {
					d.savepoint(exec, rnd)
				}
				end := "COMMIT"
				if rnd.IntN(5) == 0 {
					end = "ROLLBACK"
				}
				must(t, exec(end))
				all := d.pending()
				changes += len(all)
				for _, s := range all {
					if _, was := set[s.resource.Key]; s.change == "deleted" && !was && len(all) == 1 {
						t.Fatalf("round %d: %q was deleted and not there", round, s.resource.Key)
					}
					maps.Copy(set, replay([]pendingRow{s}))
					if s.change == "deleted" {
						delete(set, s.resource.Key)
					}
				}
				follow(known, all)
				must(t, exec("DELETE FROM rs_pending"))
				if err := errors.Join(sameSet(t, set, p), sameURIs(t, known, p)); err != nil {
					t.Fatalf("round %d: %v\n%s\n%+v", round, err, strings.Join(done, "\n"), all)
				}
			}
		})
		if changes < 15 {
			t.Errorf("%d changes: too few to tell", changes)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgresDatabase(t), "SET session_replication_role = origin")
	})
	t.Run("postgres replica", func(t *testing.T) {
		t.Parallel()
		test(t, postgresDatabase(t), "SET session_replication_role = replica")
	})
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, sqliteDatabase(t), "PRAGMA recursive_triggers = OFF") })
	t.Run("sqlite recursive", func(t *testing.T) {
		t.Parallel()
		needs.Time(t)
		test(t, sqliteDatabase(t), "PRAGMA recursive_triggers = ON")
	})
}

// TestTriggersUnits: the journal reads times in integer columns as the table does.
func TestTriggersUnits(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
		for unit, now := range map[time.Duration]int64{time.Second: at.Unix(), time.Millisecond: at.UnixMilli(), time.Microsecond: at.UnixMicro()} {
			table := Table{Name: fmt.Sprint("t_", unit.Nanoseconds()), Key: "id", URI: "https://example.org/{id}", LastModified: "at", Unit: unit}
			d.run("CREATE TABLE " + table.Name + " (id {int} NOT NULL PRIMARY KEY, at {int})")
			d.journal(table, table.Name)
			d.run(fmt.Sprintf("INSERT INTO %s VALUES (1, %d), (2, 0), (3, -%[2]d), (4, NULL)", table.Name, now))
			if err := sameSet(t, replay(d.pending()), d.provider(table)); err != nil {
				t.Errorf("%v: %v", unit, err)
			}
			d.run("DELETE FROM rs_pending")
		}
	})
}

// TestTriggers makes changes one after the other, and compares the journal.
func TestTriggers(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		d.makeArticles()
		d.journal(articles, "papers")
		for _, tt := range []struct{ do, want string }{
			{"INSERT INTO articles (id, slug, status) VALUES (1, 'a', 'open'), (2, 'b', 'open'), (3, 'c', 'draft')", "c:1 c:2"},
			{"UPDATE articles SET views = 7", ""},
			{"UPDATE articles SET kind = 'text/html' WHERE id = 1", "u:1"},
			{"UPDATE articles SET kind = 'text/html' WHERE id = 1", ""},
			{"UPDATE articles SET status = 'open' WHERE id = 3", "c:3"},
			{"UPDATE articles SET slug = 'moved', kind = 'text/plain' WHERE id = 3", "d:3 c:3"},
			{"UPDATE articles SET status = 'draft' WHERE id = 3", "d:3"},
			{"UPDATE articles SET kind = 'text/html' WHERE id = 3", ""},
			{"UPDATE articles SET id = 4 WHERE id = 2", "d:2 c:4"},
			{"UPDATE articles SET gone = '2026-03-01 00:00:00' WHERE id = 4", "d:4"},
			{"UPDATE articles SET bytes = 3 WHERE id = 4", ""},
			{"UPDATE articles SET gone = NULL, id = 5 WHERE id = 4", "c:5"},
			{"DELETE FROM articles WHERE id = 3", ""},
			{"DELETE FROM articles", "d:1 d:5"},
			{"INSERT INTO articles (id, slug, status) VALUES (-7, 'z', NULL)", ""},
			{"INSERT INTO articles (id, slug, status) VALUES (6, 'z2', 'open')", "c:6"},
			{"DELETE FROM articles", "d:6"},
		} {
			d.run(tt.do)
			if got := d.take(); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.do, got, tt.want)
			}
		}
	})
}

// TestTriggersOfColumnsThatTellNothing: if no named column can show an update, all
// columns are compared.
func TestTriggersOfColumnsThatTellNothing(t *testing.T) {
	t.Parallel()
	type scenes = [][2]string
	same := [2]string{"UPDATE notes SET body = body, doc = doc, views = views", ""}
	for name, tt := range map[string]struct {
		table  Table
		scenes scenes
	}{
		"nothing": {Table{URI: "https://example.org/{id}"}, scenes{
			{"UPDATE notes SET body = 'b' WHERE id = 1", "u:1"},
			{"UPDATE notes SET body = 'A' WHERE id = 2", "u:2"},
			{"UPDATE notes SET body = NULL WHERE id = 2", "u:2"},
			{"UPDATE notes SET doc = '{\"a\": 2}' WHERE id = 2", "u:2"},
			{"UPDATE notes SET body = 'B', id = 3 WHERE id = 2", "d:2 c:3"},
		}},
		"key and URI": {Table{URI: "https://example.org/{slug}", LastModified: "id", Type: "slug", Hashes: map[string]string{"md5": "slug"}}, scenes{
			{"UPDATE notes SET views = 1 WHERE id = 1", "u:1"},
			{"UPDATE notes SET slug = 'moved' WHERE id = 1", "d:1 c:1"},
		}},
		"condition": {Table{URI: "https://example.org/{id}", Where: "views >= 0"}, scenes{
			{"UPDATE notes SET body = 'b'", "u:1 u:2"},
			{"UPDATE notes SET views = -1 WHERE id = 1", "d:1"},
			{"UPDATE notes SET body = 'c' WHERE id = 1", ""},
			{"UPDATE notes SET views = 5, body = 'd' WHERE id = 1", "c:1"},
		}},
		"deleted": {Table{URI: "https://example.org/{id}", Deleted: "gone"}, scenes{
			{"UPDATE notes SET body = 'b'", "u:1 u:2"},
			{"UPDATE notes SET gone = '2026-03-01 00:00:00' WHERE id = 1", "d:1"},
			{"UPDATE notes SET body = 'c' WHERE id = 1", ""},
		}},
		"length": {Table{URI: "https://example.org/{id}", Length: "views"}, scenes{
			{"UPDATE notes SET body = 'b'", ""},
			{"UPDATE notes SET views = 7 WHERE id = 1", "u:1"},
		}},
		"hash of its own": {Table{URI: "https://example.org/{slug}", Type: "slug", Hashes: map[string]string{"md5": "body"}}, scenes{
			{"UPDATE notes SET views = 7", ""},
			{"UPDATE notes SET body = 'b' WHERE id = 1", "u:1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, d *database) {
				// json is a type that PostgreSQL cannot compare.
				d.run("CREATE TABLE notes (id {int} NOT NULL PRIMARY KEY, slug {text} NOT NULL, body {other}, doc json, views {int} NOT NULL DEFAULT 0, gone {time})",
					`INSERT INTO notes (id, slug, body, doc) VALUES (1, 'one', 'a', '{"a": 1}'), (2, 'two', 'a', '{"a": 1}')`)
				table := tt.table
				table.Name, table.Key = "notes", "id"
				d.journal(table, "papers")
				for _, s := range tt.scenes {
					d.play(s, same)
				}
			})
		})
	}
}

// TestTriggersComeAndGo applies the triggers twice, and drops them without a trace.
func TestTriggersComeAndGo(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		objects := func() string {
			var all []string
			sql := "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1"
			if d.pg != nil {
				sql = `SELECT 'trigger ' || tgname || tgrelid::regclass FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
						AND tgname <> 'rs_notify'
					UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1`
			}
			d.rows(sql, func(r rowdb.Row) error { all = append(all, rowdb.String(r, 0)); return nil })
			return strings.Join(all, "\n")
		}
		d.makeArticles()
		_, err := d.store().Journal(t.Context(), "it's \"a\" \\ set")
		must(t, err)
		before := objects()
		for range 2 {
			d.apply(articles, "it's \"a\" \\ set")
		}
		once := articles
		once.Where = ""
		d.apply(once, "it's \"a\" \\ set")
		d.run("INSERT INTO articles (id, slug, status) VALUES (1, 'a', 'draft')")
		if got := d.take(); got != "c:1" {
			t.Errorf("%q", got)
		}
		for range 2 {
			drop, err := d.triggers().Drop(t.Context(), Table{Name: "articles"}, "it's \"a\" \\ set")
			must(t, err)
			must(t, d.triggers().Apply(t.Context(), drop))
		}
		if after := objects(); after != before {
			t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
		}
		d.run("DELETE FROM articles")
		if got := d.take(); got != "" {
			t.Errorf("%q", got)
		}
	})
}

// TestTriggersTogether: several may apply the same triggers at once.
func TestTriggersTogether(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		d.makeArticles()
		_, err := d.store().Journal(t.Context(), "papers")
		must(t, err)
		tr := d.triggers()
		create, err := tr.Create(t.Context(), articles, "papers")
		must(t, err)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if err := tr.Apply(t.Context(), create); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d.run("INSERT INTO articles (id, slug, status) VALUES (1, 'a', 'open')")
		if got := d.take(); got != "c:1" {
			t.Errorf("%q", got)
		}
	})
}

// TestTriggersHostileNames uses names for everything that are code in some language.
func TestTriggersHostileNames(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		for i, name := range []string{`x"; DROP TABLE rs_set; --`, "a`b'c\\d", "new", "OLD", "$rs$", "select", "rs_pending ", "{table}"} {
			q := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
			d.run(fmt.Sprintf(`CREATE TABLE %s (%s text NOT NULL PRIMARY KEY, "rs_was" text, "tg_op" text, "key" text, "uri" text)`, q(name+"t"), q(name)))
			if name == "new" || name == "OLD" {
				d.run(fmt.Sprintf(`ALTER TABLE %s RENAME TO %s`, q(name+"t"), q(name)))
			} else {
				d.run(fmt.Sprintf(`ALTER TABLE %s RENAME TO %s`, q(name+"t"), q(name+" table")))
				name += " table"
			}
			column := strings.TrimSuffix(name, " table")
			table := Table{Name: name, Key: column, URI: "https://example.org/'\\{rs_was}"[:20] + "{rs_was}/{uri}", Where: "tg_op <> '$rs$ {set}' AND \"rs_was\" <> ''"}
			set := fmt.Sprintf("%d%s", i, name)
			d.journal(table, set)
			d.run(fmt.Sprintf(`INSERT INTO %s VALUES ('k', 'v', 'o', 'key', 'a/b')`, q(name)), fmt.Sprintf(`UPDATE %s SET uri = 'c'`, q(name)),
				fmt.Sprintf(`UPDATE %s SET %s = 'l'`, q(name), q(column)), fmt.Sprintf(`DELETE FROM %s`, q(name)))
			all := d.pending()
			drop, err := d.triggers().Drop(t.Context(), table, set)
			must(t, err)
			must(t, d.triggers().Apply(t.Context(), drop))
			if got := d.take(); got != "c:k d:k c:k d:k c:l d:l" {
				t.Errorf("%q: %q", name, got)
			} else if got := all[0].resource.URI; got != "https://example.org/v/a%2Fb" {
				t.Errorf("%q: %q", name, got)
			}
		}
	})
}

// TestJournal follows a change through the sequencer.
func TestJournal(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		d.makeArticles()
		store := d.store()
		journal, err := store.Journal(t.Context(), "papers")
		must(t, err)
		d.apply(articles, "papers")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- store.Run(ctx) }()
		d.session(func(exec func(string) error) {
			rnd := rand.New(rand.NewPCG(3, 4))
			for range 100 {
				d.savepointed(exec, rnd)
			}
		})
		for deadline := time.Now().Add(needs.Patience); len(d.pending()) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("changes stay pending")
			}
		}
		stop()
		must(t, <-done)
		var all []pendingRow
		for c, err := range journal.Changes(t.Context(), resourcesync.Interval{}) {
			must(t, err)
			all = append(all, pendingRow{string(c.Type), c.Resource.Clone()})
		}
		known := map[string]resourcesync.Resource{}
		follow(known, all)
		if err := errors.Join(sameSet(t, replay(all), d.provider(articles)), sameURIs(t, known, d.provider(articles))); err != nil {
			t.Error(err)
		}
		if len(all) < 12 {
			t.Errorf("%d changes: too few to tell", len(all))
		}
	})
}
