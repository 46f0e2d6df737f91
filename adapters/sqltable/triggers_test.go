package sqltable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// both runs test on the engines that have triggers.
func both(t *testing.T, test func(t *testing.T, d *database)) {
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, postgresDatabase(t)) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, sqliteDatabase(t)) })
}

// store opens the store in d.
func (d *database) store() *sqlstore.Store {
	d.t.Helper()
	var s *sqlstore.Store
	var err error
	if d.pg != nil {
		s, err = pgstore.Open(d.t.Context(), d.pg, nil)
	} else {
		s, err = sqlitestore.Open(d.t.Context(), d.lite, nil)
	}
	must(d.t, err)
	d.t.Cleanup(func() { must(d.t, s.Close()) })
	return s
}

func (d *database) triggers() *Triggers {
	d.t.Helper()
	if d.lite != nil {
		return SQLiteTriggers(d.lite)
	}
	tr, err := PostgresTriggers(d.t.Context(), d.pg)
	must(d.t, err)
	return tr
}

// journal makes a set of this name and triggers for it.
func (d *database) journal(table Table, set string) {
	d.t.Helper()
	_, err := d.store().Journal(d.t.Context(), set)
	must(d.t, err)
	d.apply(table, set)
}

func (d *database) apply(table Table, set string) {
	d.t.Helper()
	statements, err := d.triggers().Create(d.t.Context(), table, set)
	must(d.t, err)
	must(d.t, d.triggers().Apply(d.t.Context(), statements))
}

// rows runs a query.
func (d *database) rows(sql string, each func(rowdb.Row) error) {
	d.t.Helper()
	if d.lite != nil {
		conn, err := d.lite.Take(d.t.Context())
		must(d.t, err)
		defer d.lite.Put(conn)
		must(d.t, sqlitedb.Wrap(conn).Query(d.t.Context(), sql, each))
		return
	}
	db, err := pgdb.New(d.t.Context(), d.pg)
	must(d.t, err)
	must(d.t, db.Do(d.t.Context(), func(c rowdb.Conn) error { return c.Query(d.t.Context(), sql, each) }))
}

// A said is a row of rs_pending.
type said struct {
	change   string
	resource resourcesync.Resource
}

// pending returns the journalled changes that have not been taken up, in order.
func (d *database) pending() []said {
	d.t.Helper()
	var all []said
	d.rows(`SELECT change, key, uri, lastmod, length, type, hash FROM rs_pending
		WHERE set_id IN (SELECT id FROM rs_set) ORDER BY rs_pending.id`, func(r rowdb.Row) error {
		s := said{rowdb.String(r, 0), resourcesync.Resource{Key: rowdb.String(r, 1), URI: rowdb.String(r, 2), Type: rowdb.String(r, 5)}}
		if !r.Null(3) {
			s.resource.LastModified = time.UnixMicro(r.Int(3)).UTC()
		}
		if !r.Null(4) {
			s.resource.Length = resourcesync.Bytes(r.Int(4))
		}
		s.resource.Hashes, _ = resourcesync.AppendHashes(nil, rowdb.String(r, 6))
		all = append(all, s)
		return nil
	})
	return all
}

// take returns what is pending in a few words, and forgets it.
func (d *database) take() string {
	d.t.Helper()
	var words []string
	for _, s := range d.pending() {
		words = append(words, s.change[:1]+":"+strings.TrimLeft(s.resource.Key, "0"))
	}
	d.run("DELETE FROM rs_pending")
	return strings.Join(words, " ")
}

// replay is the set that changes make.
func replay(all []said) map[string]resourcesync.Resource {
	set := map[string]resourcesync.Resource{}
	for _, s := range all {
		if s.change == "deleted" {
			delete(set, s.resource.Key)
		} else {
			set[s.resource.Key] = s.resource
		}
	}
	return set
}

// follow does with changes what a Destination does, which knows URIs and no keys.
func follow(known map[string]resourcesync.Resource, all []said) {
	for _, s := range all {
		if s.change == "deleted" {
			delete(known, s.resource.URI)
		} else {
			known[s.resource.URI] = s.resource
		}
	}
}

// sameURIs reports how what a Destination knows is not what p lists.
func sameURIs(t testing.TB, known map[string]resourcesync.Resource, p *Set) error {
	t.Helper()
	known = maps.Clone(known)
	for _, want := range list(t, p, resourcesync.Range{}) {
		if got, found := known[want.URI]; !found || !got.Equal(want) {
			return fmt.Errorf("a Destination has\n%+v, the table\n%+v", got, want)
		}
		delete(known, want.URI)
	}
	if len(known) > 0 {
		return fmt.Errorf("a Destination has %q, the table has not", slices.Sorted(maps.Keys(known)))
	}
	return nil
}

// sameSet reports how the set that changes make is not what p lists.
func sameSet(t testing.TB, set map[string]resourcesync.Resource, p *Set) error {
	t.Helper()
	set = maps.Clone(set)
	for _, want := range list(t, p, resourcesync.Range{}) {
		if got, found := set[want.Key]; !found || !got.Equal(want) {
			return fmt.Errorf("the journal has\n%+v, the table\n%+v", got, want)
		}
		delete(set, want.Key)
	}
	if len(set) > 0 {
		return fmt.Errorf("the journal has %q, the table has not", slices.Sorted(maps.Keys(set)))
	}
	return nil
}

// articles is a table with all that triggers have to understand.
var articles = Table{
	Name: "articles", Key: "id", URI: "https://example.org/{slug}?n={id}", LastModified: "at", Length: "bytes", Type: "kind",
	Hashes: map[string]string{"md5": "sum", "sha-256": "raw"}, Deleted: "gone", Where: "status <> 'draft' -- and not a word more",
}

func (d *database) makeArticles() {
	d.run(`CREATE TABLE articles (id {int} NOT NULL PRIMARY KEY, slug {text} NOT NULL UNIQUE, status {plain}, at {time}, bytes {int}, kind {plain},
		sum {plain}, raw {bytes}, gone {time}, views {int})`)
}

// TestTriggersReplay does things to a table at random. Whatever is committed, the
// journal makes the same set as the table.
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
					maps.Copy(set, replay([]said{s}))
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
	t.Run("sqlite recursive", func(t *testing.T) { t.Parallel(); test(t, sqliteDatabase(t), "PRAGMA recursive_triggers = ON") })
}

// TestTriggersUnits: the journal has the times of integers as the table has them.
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

// savepoint does something, in part of a transaction that may be undone.
func (d *database) savepoint(exec func(string) error, rnd *rand.Rand) {
	must(d.t, exec("SAVEPOINT s"))
	// It may violate a constraint: then nothing has happened.
	if err := exec(d.deed(rnd)); err != nil || rnd.IntN(6) == 0 {
		if err != nil && !strings.Contains(strings.ToLower(err.Error()), "unique") {
			d.t.Fatal(err)
		}
		must(d.t, exec("ROLLBACK TO s"))
	}
	must(d.t, exec("RELEASE s"))
}

func (d *database) deed(rnd *rand.Rand) string {
	id := func() int { return rnd.IntN(14) - 4 }
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	slug := func() string {
		return pick("'a'", "'é /?#%'", "'日本'", "'it''s'", "'~._-'", "'A'", "'b'", "'c'", "'{id}'", "'\\n'", "'\u0085'")
	}
	status := func() string { return pick("'draft'", "'open'", "'open'", "'not quite'", "NULL") }
	at := func() string {
		if rnd.IntN(6) == 0 {
			return pick("'2026-03-01'", "NULL")
		}
		return fmt.Sprintf("'2026-03-01 12:%02d:%02d.%06d'", rnd.IntN(60), rnd.IntN(60), rnd.IntN(1e6))
	}
	digest := func() string { return pick("'D41D8CD98F00B204E9800998ECF8427E'", "NULL", "''") }
	bytes := func() string {
		if d.pg != nil {
			return pick(`'\x00ff'`, "NULL")
		}
		return pick("x'00ff'", "NULL")
	}
	row := func() string {
		return fmt.Sprintf("(%d, %s, %s, %s, %s, 'text/plain', %s, %s)", id(), slug(), status(), at(), pick("5", "NULL"), digest(), bytes())
	}
	const columns = "articles (id, slug, status, at, bytes, kind, sum, raw)"
	some := fmt.Sprintf(" WHERE id BETWEEN %d AND %d", id(), id())
	switch rnd.IntN(16) {
	case 0, 1, 2:
		return "INSERT INTO " + columns + " VALUES " + row()
	case 3:
		return "INSERT INTO " + columns + " VALUES " + row() + ", " + row()
	case 4:
		return "INSERT INTO " + columns + " VALUES " + row() + " ON CONFLICT DO NOTHING"
	case 5:
		return "INSERT INTO " + columns + " VALUES " + row() + " ON CONFLICT (id) DO UPDATE SET status = excluded.status, slug = excluded.slug"
	case 6:
		if d.lite != nil {
			return pick("REPLACE INTO ", "INSERT OR REPLACE INTO ", "INSERT OR IGNORE INTO ") + columns + " VALUES " + row()
		}
		return fmt.Sprintf(`MERGE INTO articles t USING (VALUES (%d), (%d), (99)) v (id) ON t.id = v.id
			WHEN MATCHED AND t.id < 3 THEN DELETE WHEN MATCHED THEN UPDATE SET status = 'open'
			WHEN NOT MATCHED THEN INSERT (id, slug, status) VALUES (v.id, 'merged' || v.id, 'open')`, id(), id()+20)
	case 7:
		if d.lite != nil {
			return fmt.Sprintf("UPDATE OR REPLACE articles SET slug = %s, id = %d WHERE id = %d", slug(), id(), id())
		}
		if rnd.IntN(4) == 0 {
			return "TRUNCATE articles"
		}
		return fmt.Sprintf("UPDATE articles SET id = %d WHERE id = %d", id(), id())
	case 8:
		return fmt.Sprintf("UPDATE articles SET id = %d WHERE id = %d", id(), id())
	case 9:
		return "UPDATE articles SET status = " + status() + some
	case 10:
		return "UPDATE articles SET at = " + at() + ", sum = " + digest() + ", raw = " + bytes() + some
	case 11:
		return "UPDATE articles SET gone = " + pick("NULL", "'2026-03-02 00:00:00'") + some
	case 12:
		return fmt.Sprintf("UPDATE articles SET slug = %s WHERE id = %d", slug(), id())
	case 13:
		return "UPDATE articles SET views = 1" + some
	case 14:
		return "DELETE FROM articles" + some
	}
	if rnd.IntN(4) == 0 {
		return "DELETE FROM articles"
	}
	return "UPDATE articles SET id = id + 100 WHERE id < 3"
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

// TestTriggersOfColumnsThatTellNothing: where no column that is named can tell of an
// update, all of them do.
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

// TestTriggersComeAndGo applies them twice, and drops them without a trace.
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

// TestTriggersHostileNames gives everything a name that is code somewhere.
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
		for deadline := time.Now().Add(20 * time.Second); len(d.pending()) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("changes stay pending")
			}
		}
		stop()
		must(t, <-done)
		var all []said
		for c, err := range journal.Changes(t.Context(), resourcesync.Interval{}) {
			must(t, err)
			all = append(all, said{string(c.Type), c.Resource.Clone()})
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

// savepointed does something in a transaction of its own.
func (d *database) savepointed(exec func(string) error, rnd *rand.Rand) {
	must(d.t, exec("BEGIN"))
	d.savepoint(exec, rnd)
	must(d.t, exec("COMMIT"))
}
