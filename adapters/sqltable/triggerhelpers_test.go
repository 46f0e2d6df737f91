package sqltable

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
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

// journal creates a set with this name and triggers for it.
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

// A pendingRow is a row of rs_pending.
type pendingRow struct {
	change   string
	resource resourcesync.Resource
}

// pending returns the journalled changes that have not been processed, in order.
func (d *database) pending() []pendingRow {
	d.t.Helper()
	var all []pendingRow
	d.rows(`SELECT change, key, uri, lastmod, length, type, hash FROM rs_pending
		WHERE set_id IN (SELECT id FROM rs_set) ORDER BY rs_pending.id`, func(r rowdb.Row) error {
		s := pendingRow{rowdb.String(r, 0), resourcesync.Resource{Key: rowdb.String(r, 1), URI: rowdb.String(r, 2), Type: rowdb.String(r, 5)}}
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

// take returns the pending changes in a few words, and removes them.
func (d *database) take() string {
	d.t.Helper()
	var words []string
	for _, s := range d.pending() {
		words = append(words, s.change[:1]+":"+strings.TrimLeft(s.resource.Key, "0"))
	}
	d.run("DELETE FROM rs_pending")
	return strings.Join(words, " ")
}

// replay returns the set that results from changes.
func replay(all []pendingRow) map[string]resourcesync.Resource {
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

// follow applies changes as a Destination does, which knows URIs but no keys.
func follow(known map[string]resourcesync.Resource, all []pendingRow) {
	for _, s := range all {
		if s.change == "deleted" {
			delete(known, s.resource.URI)
		} else {
			known[s.resource.URI] = s.resource
		}
	}
}

// sameURIs reports differences between the state of a Destination and the list of p.
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

// sameSet reports differences between the set that results from changes and the list of
// p.
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

// articles is a table with everything that triggers have to handle.
var articles = Table{
	Name: "articles", Key: "id", URI: "https://example.org/{slug}?n={id}", LastModified: "at", Length: "bytes", Type: "kind",
	Hashes: map[string]string{"md5": "sum", "sha-256": "raw"}, Deleted: "gone", Where: "status <> 'draft' -- and not a word more",
}

func (d *database) makeArticles() {
	d.run(`CREATE TABLE articles (id {int} NOT NULL PRIMARY KEY, slug {text} NOT NULL UNIQUE, status {plain}, at {time}, bytes {int}, kind {plain},
		sum {plain}, raw {bytes}, gone {time}, views {int})`)
}

// savepoint makes a change, in a part of a transaction that may be rolled back.
func (d *database) savepoint(exec func(string) error, rnd *rand.Rand) {
	must(d.t, exec("SAVEPOINT s"))
	// It may violate a constraint. Then nothing has changed.
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

// savepointed makes a change in a transaction of its own.
func (d *database) savepointed(exec func(string) error, rnd *rand.Rand) {
	must(d.t, exec("BEGIN"))
	d.savepoint(exec, rnd)
	must(d.t, exec("COMMIT"))
}
