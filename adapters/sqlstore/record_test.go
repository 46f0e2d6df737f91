package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// journal returns the changes of j in a short form.
func journal(t testing.TB, j *Journal) (lines []string) {
	t.Helper()
	for c, err := range j.Changes(context.Background(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Type, c.Resource.Key, strings.TrimPrefix(c.Resource.Type, "version/"))))
	}
	return lines
}

func change(what resourcesync.ChangeType, key string, version int) resourcesync.Change {
	c := resourcesync.Change{Type: what, Resource: resourcesync.Resource{Key: key}}
	if version > 0 {
		c.Resource = small(key, version)
	}
	return c
}

// A way begins a transaction of a host and returns it with the functions that end it.
type way struct {
	name  string
	begin func(t *testing.T, d database) (tx Tx, commit, rollback func() error)
}

func ways(d database) []way {
	all := []way{{"database/sql", func(t *testing.T, d database) (Tx, func() error, func() error) {
		tx, err := newWriter(t, d).db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tx.Rollback() })
		return SQLTx(tx), tx.Commit, tx.Rollback
	}}}
	if d.isPostgres() {
		return append(all, way{"pgx", func(t *testing.T, d database) (Tx, func() error, func() error) {
			conn, err := pgx.Connect(t.Context(), string(d))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close(context.Background()) })
			// The host's own search path does not matter.
			if _, err := conn.Exec(t.Context(), "SET search_path = public"); err != nil {
				t.Fatal(err)
			}
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return PgxTx(tx), func() error { return tx.Commit(t.Context()) }, func() error { return tx.Rollback(t.Context()) }
		}})
	}
	return append(all, way{"connection", func(t *testing.T, d database) (Tx, func() error, func() error) {
		conn, err := sqlite.OpenConn(string(d), sqlite.OpenReadWrite|sqlite.OpenWAL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		execute := func(statement string) error {
			stmt, _, err := conn.PrepareTransient(statement)
			if err != nil {
				return err
			}
			defer stmt.Finalize()
			_, err = stmt.Step()
			return err
		}
		if err := execute("BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		return SQLiteTx(conn), func() error { return execute("COMMIT") }, func() error { return execute("ROLLBACK") }
	}})
}

// TestRecord records, commits and rolls back in every way.
func TestRecord(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		for _, way := range ways(db) {
			t.Run(way.name, func(t *testing.T) {
				set := store.mustSet(t, way.name, nil)
				record := func(keep bool, changes ...resourcesync.Change) {
					t.Helper()
					tx, commit, rollback := way.begin(t, db)
					if err := set.Record(t.Context(), tx, changes...); err != nil {
						t.Fatal(err)
					}
					end := rollback
					if keep {
						end = commit
					}
					if err := end(); err != nil {
						t.Fatal(err)
					}
					if _, err := store.sequence(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				record(false, change(resourcesync.Created, "rolled-back", 1))
				record(true,
					change(resourcesync.Updated, "a", 1), // unknown: created
					change(resourcesync.Created, "a", 2), // known: updated
					change(resourcesync.Updated, "a", 2), // Equal, and updated all the same
					change(resourcesync.Deleted, "b", 0), // unknown: nothing
					change(resourcesync.Created, "b", 1),
					change(resourcesync.Deleted, "b", 0))
				record(true, change(resourcesync.Deleted, "a", 0), change(resourcesync.Created, "a", 3))
				want := []string{"created a 1", "updated a 2", "updated a 2", "created b 1", "deleted b", "deleted a", "created a 3"}
				if got := journal(t, &set.Journal); !slices.Equal(got, want) {
					t.Errorf("the journal is\n%q\nexpected\n%q", got, want)
				}
				var many []resourcesync.Change
				for i := range 2001 { // several statements in every engine
					many = append(many, change(resourcesync.Created, fmt.Sprintf("%04d", i), i+1))
				}
				record(true, many...)
				if got := journal(t, &set.Journal)[len(want):]; len(got) != len(many) || !slices.IsSorted(got) {
					t.Errorf("%d changes of one transaction, out of order or not %d", len(got), len(many))
				}
				checkBlocks(t, set)
			})
		}
	})
}

// TestPutAfterRecord: a change that was committed before is earlier.
func TestPutAfterRecord(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		err := newWriter(t, db).transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Updated, "a", 1))
		})
		if err == nil {
			err = set.Put(t.Context(), small("a", 2))
		}
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"created a 1", "updated a 2"}
		if got := journal(t, &set.Journal); !slices.Equal(got, want) {
			t.Errorf("the journal is %q, expected %q", got, want)
		}
	})
}

func TestRecordRefuses(t *testing.T) {
	db := newSQLite(t)
	store := db.open(t, nil)
	set := store.mustSet(t, "set", nil)
	alone, err := store.Journal(t.Context(), "journal")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		j    *Journal
		c    resourcesync.Change
		want string
	}{
		{&set.Journal, change("moved", "a", 1), `unknown type of change "moved"`},
		{&set.Journal, change(resourcesync.Created, "a", 0), "not absolute"},
		{&set.Journal, change(resourcesync.Deleted, "", 0), "no key"},
		{&set.Journal, change(resourcesync.Updated, strings.Repeat("a", resourcesync.MaxKeyLength+1), 1), fmt.Sprint(resourcesync.MaxKeyLength+1, " bytes")},
		{alone, change(resourcesync.Deleted, "a", 0), "not absolute"},
	} {
		host := newWriter(t, db)
		err := host.transaction(t.Context(), func(tx *sql.Tx) error {
			return tt.j.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, "fine", 1), tt.c)
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, expected %q", tt.c, err, tt.want)
		}
	}
	if n := count(t, store, "SELECT count(*) FROM rs_pending"); n != 0 {
		t.Errorf("%d changes are pending", n)
	}
}

// TestJournalAlone: a journal takes changes as recorded.
func TestJournalAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		j, err := store.Journal(t.Context(), "papers")
		if err != nil {
			t.Fatal(err)
		}
		before, err := j.Stat(t.Context(), resourcesync.Range{})
		if err != nil {
			t.Fatal(err)
		}
		host := newWriter(t, db)
		err = host.transaction(t.Context(), func(tx *sql.Tx) error {
			return j.Record(t.Context(), SQLTx(tx),
				change(resourcesync.Updated, "a", 1), change(resourcesync.Created, "a", 2), change(resourcesync.Deleted, "b", 1))
		})
		if err == nil {
			_, err = store.sequence(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"updated a 1", "created a 2", "deleted b 1"}
		if got := journal(t, j); !slices.Equal(got, want) {
			t.Errorf("the journal is %q, expected %q", got, want)
		}
		after, err := j.Stat(t.Context(), resourcesync.Range{})
		if err != nil || after.Version == before.Version || after.Count != -1 {
			t.Errorf("%+v after %+v, %v", after, before, err)
		}
		if windows, err := j.Windows(t.Context(), 2); err != nil || len(windows) != 2 {
			t.Errorf("%v, %v", windows, err)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_resource"); n != 0 {
			t.Errorf("the store has %d resources", n)
		}
		if _, err := store.Set(t.Context(), "papers", nil); err == nil {
			t.Error("a set got the name of a journal")
		}
	})
}

// TestTriggers inserts rows as the package's documentation tells triggers to, correctly
// and wrongly. Wrong rows are dropped and reported, and delay nothing.
func TestTriggers(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		var log bytes.Buffer
		store := db.open(t, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		set := store.mustSet(t, "papers", nil)
		host := newWriter(t, db)
		bytesOf := "CAST('%s' AS BLOB)"
		if db.isPostgres() {
			bytesOf = "convert_to('%s', 'UTF8')"
		}
		insert := func(name, change, key, uri string) error {
			_, err := host.db.Exec(fmt.Sprintf(`INSERT INTO rs_pending (set_id, change, key, uri, lastmod, length, type, encoding, hash)
				VALUES ((SELECT id FROM rs_set WHERE name = '%s'), '%s', %s, '%s', 1767225600000001, 5, 'text/html', 'gzip', 'md5:aa sha-256:bb')`,
				name, change, fmt.Sprintf(bytesOf, key), uri))
			return err
		}
		for _, row := range [][3]string{
			{"created", "a", "https://example.org/a"},
			{"created", "", "https://example.org/nokey"},
			{"created", strings.Repeat("long", 257), "https://example.org/long"},
			{"renamed", "a", "https://example.org/a"},
			{"updated", "b", "https://example.org/b"},
			{"deleted", "b", ""},
		} {
			if err := insert("papers", row[0], row[1], row[2]); err != nil {
				t.Fatal(err)
			}
		}
		if err := insert("unknown", "created", "a", "https://example.org/a"); err == nil {
			t.Error("a set that is not there takes changes")
		}
		if _, err := host.db.Exec("INSERT INTO rs_pending (set_id, change, key) VALUES (12345, 'created', " + fmt.Sprintf(bytesOf, "a") + ")"); err != nil {
			t.Fatal(err)
		}
		if _, err := host.db.Exec("INSERT INTO rs_pending (set_id, change, key, body) SELECT id, 'created', " + fmt.Sprintf(bytesOf, "c") + ", " + fmt.Sprintf(bytesOf, "body") + " FROM rs_set"); err != nil {
			t.Fatal(err)
		}
		if _, err := store.sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"created a text/html", "created b text/html", "deleted b"}
		if got := journal(t, &set.Journal); !slices.Equal(got, want) {
			t.Errorf("the journal is %q, expected %q", got, want)
		}
		full := resourcesync.Resource{
			Key: "a", URI: "https://example.org/a", LastModified: time.UnixMicro(1767225600000001), Length: resourcesync.Bytes(5),
			Type: "text/html", Encoding: "gzip", Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "aa"}, {Algorithm: "sha-256", Digest: "bb"}},
		}
		if got, _, err := set.Get(t.Context(), "a"); err != nil || !got.Equal(full) {
			t.Errorf("%+v, %v, expected %+v", got, err, full)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 4 {
			t.Errorf("%d errors were logged:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "their keys are too long") {
			t.Errorf("%d warnings were logged:\n%s", n, &log)
		}
	})
}

// TestClock: datetimes come from the clock, and increase even if it does not.
func TestClock(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		start := clock.now
		set := db.open(t, &Options{Now: clock.tell}).mustSet(t, "", nil)
		put := func(version int) {
			t.Helper()
			if err := set.Put(t.Context(), small("a", version)); err != nil {
				t.Fatal(err)
			}
		}
		put(1) // at the time the set was made
		clock.now = start.Add(time.Second + 1)
		put(2)
		clock.now = start.Add(-time.Hour)
		put(3)
		clock.now = start.Add(time.Minute)
		put(4)
		want := []time.Time{start.Add(time.Microsecond), start.Add(time.Second), start.Add(time.Second + time.Microsecond), start.Add(time.Minute)}
		var got []time.Time
		for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c.Datetime)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("changes at %v, expected %v", got, want)
		}
	})
}
