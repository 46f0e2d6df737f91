package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/scan"
)

// posts is a table with columns and conditions that an outbox must notice.
var posts = Table{Name: "posts", Key: "id", URI: "https://example.org/{slug}", LastModified: "at", Length: "size", Where: "status = 'publish'", Deleted: "gone"}

func (d *database) makePosts() {
	d.run(`CREATE TABLE posts (id {int} NOT NULL PRIMARY KEY AUTO_INCREMENT, slug VARCHAR(100) NOT NULL UNIQUE, status VARCHAR(20) NOT NULL DEFAULT 'publish',
		size INT, at DATETIME, gone {int}, views INT NOT NULL DEFAULT 0) ENGINE=InnoDB`)
}

// outbox creates the triggers for a table, and opens their outbox.
func (d *database) outbox(table Table, set string) *Outbox {
	d.t.Helper()
	tr := MySQLTriggers(d.maria)
	statements, err := tr.Create(d.t.Context(), table, set)
	must(d.t, err)
	must(d.t, tr.Apply(d.t.Context(), statements))
	o, err := d.list(table).Outbox(d.t.Context(), set)
	must(d.t, err)
	return o
}

// waiting returns the keys in the outbox, as they were written.
func (d *database) waiting(o *Outbox) string {
	d.t.Helper()
	var keys []string
	must(d.t, o.db.Query(d.t.Context(), "SELECT row_key FROM "+o.name+" ORDER BY id", func(r rowdb.Row) error {
		keys = append(keys, rowdb.String(r, 0))
		return nil
	}))
	return strings.Join(keys, " ")
}

func storedSet(t testing.TB) *sqlstore.Set {
	t.Helper()
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	set, err := store.Set(t.Context(), "posts", &scan.SetOptions{MaxDelete: 1})
	must(t, err)
	return set
}

// journalOf returns the changes of a set in a few words.
func journalOf(t testing.TB, set resourcesync.Changer) string {
	t.Helper()
	var all []string
	for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		must(t, err)
		all = append(all, string(c.Type)+" "+strings.TrimPrefix(c.Resource.URI, "https://example.org/"))
	}
	return strings.Join(all, ", ")
}

// TestOutbox: each statement that changes the set records the keys of its rows, and no
// other does.
func TestOutbox(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	o := d.outbox(posts, "posts")
	set := storedSet(t)
	for _, test := range []struct{ sql, waiting, journal string }{
		{"INSERT INTO posts (id, slug, size) VALUES (1, 'a', 10), (2, 'b', 20)", "1 2", "created a, created b"},
		{"UPDATE posts SET views = views + 1", "", ""},
		{"UPDATE posts SET size = 11 WHERE id = 1", "1", "updated a"},
		{"UPDATE posts SET size = 11 WHERE id = 1", "", ""},
		{"UPDATE posts SET slug = 'A' WHERE id = 1", "1", "deleted a, created A"},
		{"UPDATE posts SET status = 'draft' WHERE id = 2", "2", "deleted b"},
		{"UPDATE posts SET status = 'publish' WHERE id = 2", "2", "created b"},
		{"UPDATE posts SET gone = 1 WHERE id = 2", "2", "deleted b"},
		// The set announces a resource again if another resource has left its URI.
		{"UPDATE posts SET id = 7 WHERE id = 1", "7 1", "created A, deleted A, created A"},
		{"REPLACE INTO posts (id, slug, size) VALUES (8, 'A', 12)", "7 8", "created A, deleted A, created A"},
		{"INSERT INTO posts (id, slug, size) VALUES (8, 'x', 1) ON DUPLICATE KEY UPDATE size = 13", "8", "updated A"},
		{"INSERT IGNORE INTO posts (id, slug, size) VALUES (8, 'y', 1)", "", ""},
		{"INSERT INTO posts (slug, size) SELECT concat(slug, '-', 2), size FROM posts WHERE id = 8", "9", "created A-2"},
		{"DELETE FROM posts", "2 8 9", "deleted A, deleted A-2"},
	} {
		d.run(test.sql)
		if got := d.waiting(o); got != test.waiting {
			t.Errorf("%s: the outbox has %q, want %q", test.sql, got, test.waiting)
		}
		before := journalOf(t, set)
		_, err := o.Drain(t.Context(), set)
		must(t, err)
		if got := strings.TrimPrefix(strings.TrimPrefix(journalOf(t, set), before), ", "); got != test.journal {
			t.Errorf("%s: %q, want %q", test.sql, got, test.journal)
		}
		if got := d.waiting(o); got != "" {
			t.Errorf("%s: %q has not been removed", test.sql, got)
		}
	}
}

// TestOutboxOfHost: the host's transactions are not affected, and those that it rolls
// back leave no trace.
func TestOutboxOfHost(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	o := d.outbox(posts, "posts")
	set := storedSet(t)
	ctx := t.Context()
	result, err := d.maria.ExecContext(ctx, "INSERT INTO posts (slug) VALUES ('a'), ('b')")
	must(t, err)
	if id, err := result.LastInsertId(); id != 1 || err != nil {
		t.Errorf("the host is told that its row has the id %d, %v", id, err)
	}
	begin := func() *sql.Tx {
		tx, err := d.maria.BeginTx(ctx, nil)
		must(t, err)
		return tx
	}
	exec := func(tx *sql.Tx, sql string) {
		t.Helper()
		_, err := tx.ExecContext(ctx, sql)
		must(t, err)
	}
	// The first transaction has lower ids in the outbox, and commits last.
	first, second, third := begin(), begin(), begin()
	exec(first, "UPDATE posts SET size = 1 WHERE slug = 'a'")
	exec(second, "UPDATE posts SET size = 2 WHERE slug = 'b'")
	exec(third, "INSERT INTO posts (slug) VALUES ('never')")
	must(t, second.Commit())
	drained := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // less than the server waits for a lock
		defer cancel()
		_, err := o.Drain(ctx, set)
		must(t, err)
		if got := journalOf(t, set); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	drained("created a, created b")
	must(t, third.Rollback())
	drained("created a, created b")
	must(t, first.Commit())
	drained("created a, created b, updated a")
}

// brokenOutbox is a database whose connection breaks when rows are removed.
type brokenOutbox struct{ engine.OutboxDB }

var errBroken = errors.New("the connection is broken")

func (brokenOutbox) Remove(context.Context, string, []int64) error { return errBroken }

// TestOutboxAgain: keys that are drained again change nothing.
func TestOutboxAgain(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	o := d.outbox(posts, "posts")
	set := storedSet(t)
	d.run("INSERT INTO posts (id, slug, size) VALUES (1, 'a', 1), (2, 'b', 1)", "UPDATE posts SET size = 2", "DELETE FROM posts WHERE id = 2")
	broken := *o
	broken.db = brokenOutbox{o.db}
	if _, err := broken.Drain(t.Context(), set); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if got := d.waiting(o); got != "1 2 1 2 2" {
		t.Fatalf("%q is left", got)
	}
	result, err := o.Drain(t.Context(), set)
	if result.Unchanged != 1 || result.Created+result.Updated+result.Deleted > 0 || err != nil || d.waiting(o) != "" {
		t.Errorf("%+v, %v; %q is left", result, err, d.waiting(o))
	}
	if got := journalOf(t, set); got != "created a" {
		t.Error(got)
	}
	// A set that awaits its first scan, and one that is being scanned, accept no
	// changes.
	d.run("UPDATE posts SET size = 3")
	if _, err := o.Drain(t.Context(), memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})); !errors.Is(err, resourcesync.ErrNotReady) || d.waiting(o) != "1" {
		t.Errorf("%v; %q is left", err, d.waiting(o))
	}
}

// TestOutboxBacklog: a bulk load is drained in batches.
func TestOutboxBacklog(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	o := d.outbox(posts, "posts")
	set := storedSet(t)
	const rows = drained + applied + 1
	must(t, d.all("INSERT INTO posts (slug) VALUES ($1)", rows, func(i int) []any { return []any{fmt.Sprint("p", i)} }))
	d.run("UPDATE posts SET size = 1 WHERE id % 3 = 0")
	result, err := o.Drain(t.Context(), set)
	if result.Created != rows || err != nil || d.waiting(o) != "" {
		t.Errorf("%+v, %v; %q is left", result, err, d.waiting(o))
	}
	if n, _, err := o.list.Estimate(t.Context()); n != rows || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestOutboxText: keys are compared by their bytes, although the collation considers some
// equal.
func TestOutboxText(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.run("CREATE TABLE words (word VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL PRIMARY KEY, n INT) ENGINE=InnoDB")
	o := d.outbox(Table{Name: "words", Key: "word", URI: "https://example.org/{word}", Length: "n"}, "words")
	set := storedSet(t)
	for _, test := range []struct{ sql, journal string }{
		{"INSERT INTO words VALUES ('é', 1), ('a', 1)", "created a, created %C3%A9"},
		{"UPDATE words SET word = 'A' WHERE word = 'a'", "created A, deleted a"},
		{"UPDATE words SET word = 'E' WHERE word = 'é'", "created E, deleted %C3%A9"},
	} {
		d.run(test.sql)
		before := journalOf(t, set)
		_, err := o.Drain(t.Context(), set)
		must(t, err)
		if got := strings.TrimPrefix(strings.TrimPrefix(journalOf(t, set), before), ", "); got != test.journal {
			t.Errorf("%s: %q, want %q", test.sql, got, test.journal)
		}
	}
}

// TestOutboxTriggers has triggers that are missing, of other columns, or dropped.
func TestOutboxTriggers(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	l := d.list(posts)
	if _, err := l.Outbox(t.Context(), "posts"); !errors.Is(err, ErrNoTriggers) {
		t.Fatal(err)
	}
	d.outbox(posts, "posts")
	d.outbox(posts, "posts") // again
	less := posts
	less.Length = ""
	if _, err := d.list(less).Outbox(t.Context(), "posts"); err == nil || !strings.Contains(err.Error(), "not those for the named columns") {
		t.Error(err)
	}
	if _, err := l.Outbox(t.Context(), "others"); !errors.Is(err, ErrNoTriggers) {
		t.Error(err)
	}
	statements, err := MySQLTriggers(d.maria).Drop(t.Context(), Table{Name: "posts"}, "posts")
	must(t, err)
	must(t, MySQLTriggers(d.maria).Apply(t.Context(), statements))
	d.run("INSERT INTO posts (slug) VALUES ('a')")
	if _, err := l.Outbox(t.Context(), "posts"); !errors.Is(err, ErrNoTriggers) {
		t.Error(err)
	}
}

// TestOutboxRefusals: errors name the remedy.
func TestOutboxRefusals(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	d.run("CREATE TABLE old (id {int} NOT NULL PRIMARY KEY, n INT) ENGINE=MyISAM", "CREATE VIEW seen AS SELECT * FROM posts")
	for name, test := range map[string]struct {
		table Table
		want  string
	}{
		"view":       {Table{Name: "seen", Key: "id", URI: "https://example.org/{id}", Length: "size"}, "a view cannot be journalled"},
		"MyISAM":     {Table{Name: "old", Key: "id", URI: "https://example.org/{id}", Length: "n"}, "ENGINE=InnoDB"},
		"no content": {Table{Name: "posts", Key: "id", URI: "https://example.org/{slug}"}, "name a column that changes with the content"},
		"condition":  {Table{Name: "posts", Key: "id", URI: "https://example.org/{slug}", Length: "size", Where: "nonsense = 1"}, "nonsense"},
	} {
		if _, err := MySQLTriggers(d.maria).Create(t.Context(), test.table, "posts"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}

	// Uncommitted changes must not be seen.
	admin, address, _ := strings.Cut(needs.Variable(t, "RESOURCESYNC_TEST_MYSQL"), "@")
	var name string
	must(t, d.maria.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
	address = address[:strings.LastIndexByte(address, '/')+1] + name
	dirty, err := sql.Open("mysql", admin+"@"+address+"?tx_isolation='READ-UNCOMMITTED'")
	must(t, err)
	defer dirty.Close()
	if _, err := ListMySQL(t.Context(), dirty, posts, nil); err == nil || !strings.Contains(err.Error(), "tx_isolation='READ-COMMITTED'") {
		t.Error(err)
	}

	// A user who may only read can neither create triggers nor see them.
	o := d.outbox(posts, "posts")
	user := fmt.Sprintf("rs_%d", serial())
	d.run("CREATE USER "+user+"@'%' IDENTIFIED BY 'pw'", "GRANT SELECT ON `"+name+"`.* TO "+user+"@'%'")
	t.Cleanup(func() { d.maria.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user+"@'%'") })
	reader, err := sql.Open("mysql", user+":pw@"+address)
	must(t, err)
	defer reader.Close()
	reader.SetMaxIdleConns(0) // a connection keeps its privileges
	tr := MySQLTriggers(reader)
	statements, err := tr.Create(t.Context(), posts, "posts")
	must(t, err)
	if err := tr.Apply(t.Context(), statements); err == nil || !strings.Contains(err.Error(), "grant CREATE, DROP, TRIGGER") {
		t.Error(err)
	}
	seen, err := ListMySQL(t.Context(), reader, posts, nil)
	must(t, err)
	if _, err := seen.Outbox(t.Context(), "posts"); err == nil || !strings.Contains(err.Error(), "grant TRIGGER on the table") {
		t.Error(err)
	}
	d.run("INSERT INTO posts (slug) VALUES ('a')") // the triggers are as they were
	if got := d.waiting(o); got != "1" {
		t.Error(got)
	}

	// It names the outbox that nobody drains and, if it may read it, its age.
	d.run("UPDATE " + o.name + " SET at = now() - INTERVAL 1 HOUR")
	unseen, ok := errors.AsType[*UnseenError](outboxError(seen))
	if !ok || unseen.Hidden || unseen.Outbox != o.name || !strings.Contains(unseen.Error(), "1h0m") || !errors.Is(unseen, ErrNoTriggers) {
		t.Errorf("%#v %v", unseen, unseen)
	}
	d.run("REVOKE SELECT ON `"+name+"`.* FROM "+user+"@'%'", "GRANT SELECT ON `"+name+"`.posts TO "+user+"@'%'")
	if unseen, ok = errors.AsType[*UnseenError](outboxError(seen)); !ok || !unseen.Hidden || !strings.Contains(unseen.Error(), o.name) {
		t.Errorf("%#v %v", unseen, unseen)
	}
}

func outboxError(l *Listing) error {
	_, err := l.Outbox(context.Background(), "posts")
	return err
}

// TestOutboxOfOtherURIs: triggers for other URIs are refused until the old ones are
// dropped.
func TestOutboxOfOtherURIs(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	d.outbox(posts, "posts")
	moved := posts
	moved.URI = "https://example.org/moved/{slug}"
	tr := MySQLTriggers(d.maria)
	if _, err := tr.Create(t.Context(), moved, "posts"); err == nil || !strings.Contains(err.Error(), posts.URI) {
		t.Error(err)
	}
	moved.URI = `https://example.org/it's/%27/{slug}`
	statements, err := tr.Drop(t.Context(), moved, "posts")
	must(t, err)
	must(t, tr.Apply(t.Context(), statements))
	d.outbox(moved, "posts")
	d.outbox(moved, "posts")
	if _, err := tr.Create(t.Context(), posts, "posts"); err == nil || !strings.Contains(err.Error(), moved.URI) {
		t.Error(err)
	}
}

// idle is an outbox in which keys wait from time to time.
type idle struct {
	engine.OutboxDB
	rows atomic.Int64
	asks int
}

func (i *idle) Query(_ context.Context, _ string, each func(rowdb.Row) error, _ ...any) error {
	i.asks++
	if i.rows.Load() == 0 {
		return nil
	}
	i.rows.Add(-1)
	return each(oneRow{})
}

type oneRow struct{}

func (oneRow) Int(int) int64                   { return 1 }
func (oneRow) Append(dst []byte, _ int) []byte { return append(dst, '1') }
func (oneRow) Null(int) bool                   { return false }

// TestOutboxWatch looks twice a second.
func TestOutboxWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &idle{}
		o := &Outbox{list: &Listing{p: &Set{rel: &relation{Relation: engine.Relation{Key: engine.Key{Column: engine.Column{Kind: engine.Integer}}}}}}, db: db, name: "o"}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
		defer stop()
		woken := 0
		go func() {
			time.Sleep(3100 * time.Millisecond) // between two looks
			db.rows.Store(2)
		}()
		err := o.Watch(ctx, func() { woken++ })
		if !errors.Is(err, context.DeadlineExceeded) || woken != 2 || db.asks != 20 {
			t.Errorf("%v, woken %d times, asked %d times", err, woken, db.asks)
		}
	})
}

// TestOutboxLosesTriggers: a running program notices that triggers are missing or altered,
// and compares once they are back.
func TestOutboxLosesTriggers(t *testing.T) {
	t.Parallel()
	d := mysqlDatabase(t)
	d.makePosts()
	o := d.outbox(posts, "posts")
	o.list.outbox = o
	scans := 0
	check := func(want error, scanned int) {
		t.Helper()
		o.list.checkTriggers(t.Context(), func([]string) { scans++ })
		if err := o.list.Health(); err != want || scans != scanned {
			t.Errorf("%v, scanned %d times", err, scans)
		}
	}
	check(nil, 0)
	tr := MySQLTriggers(d.maria)
	drop, err := tr.Drop(t.Context(), posts, "posts")
	must(t, err)
	for i, statement := range drop { // one by one
		must(t, tr.Apply(t.Context(), []string{statement}))
		if i == 0 {
			check(errSilent, 0)
		}
	}
	check(errSilent, 0)
	d.outbox(posts, "posts")
	check(nil, 1)
	check(nil, 1)
}
