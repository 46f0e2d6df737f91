package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// An interrupted is a database that runs a function before the next transaction that
// writes.
type interrupted struct {
	rowdb.DB
	first func()
}

func (db *interrupted) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	if first := db.first; first != nil {
		db.first = nil
		first()
	}
	return db.DB.Update(ctx, f)
}

// TestReadAhead changes pending rows between their reading and the transaction that
// numbers them. Each change is published once, in order.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		happens func(number, restart func(), do func(statement string, args ...any))
		want    string // the keys of the journals, and what stays pending
	}{
		{"nothing", func(func(), func(), func(string, ...any)) {}, "a1 a2 b1 b2, 0"},
		{"more is committed", func(_, _ func(), do func(string, ...any)) { do(insertKeys, "a3", "b3") }, "a1 a2 b1 b2, 2"},
		{"others number them, and their ids are used again", func(number, _ func(), do func(string, ...any)) {
			number()
			do(insertKeys, "a3", "b3")
			do(insertKeys, "a4", "b4")
		}, "a1 a2 a3 a4 b1 b2 b3 b4, 0"},
		{"others number them", func(number, _ func(), _ func(string, ...any)) { number() }, "a1 a2 b1 b2, 0"},
		{"the journal starts over", func(_, restart func(), do func(string, ...any)) {
			restart()
			do(insertKeys, "a3", "b3")
		}, "a3 b1 b2 b3, 0"},
		{"one is added before them", func(_, _ func(), do func(string, ...any)) {
			do(strings.Replace(insertKey, "(set_id", "(id, set_id", 1) + " SELECT -5, id, 'updated', CAST('a0' AS BLOB), 'https://example.org/a0' FROM rs_set WHERE name = 'a'")
		}, "a0 a1 a2 b1 b2, 0"},
		{"one is taken away", func(_, _ func(), do func(string, ...any)) {
			do("DELETE FROM rs_pending WHERE key = CAST('a2' AS BLOB)")
		}, "a1 b1 b2, 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := newSQLite(t)
			store, other := db.open(t, nil), db.open(t, nil)
			var journals []*Journal
			for _, name := range []string{"a", "b"} {
				j, err := store.Journal(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				journals = append(journals, j)
			}
			host := newWriter(t, db)
			do := func(statement string, args ...any) {
				if _, err := host.db.Exec(statement, args...); err != nil {
					t.Fatal(err)
				}
			}
			do(insertKeys, "a1", "b1")
			do(insertKeys, "a2", "b2")
			number := func() {
				if _, err := other.sequence(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			restart := func() {
				j, err := other.Journal(t.Context(), "a")
				if err == nil {
					err = j.Restart(t.Context(), "a test")
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			store.db = &interrupted{store.db, func() { tt.happens(number, restart, do) }}
			if _, err := store.sequence(t.Context()); err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, j := range journals {
				for _, line := range journal(t, j) {
					keys = append(keys, strings.Fields(line)[1])
				}
			}
			got := fmt.Sprintf("%s, %d", strings.Join(keys, " "), count(t, store, "SELECT count(*) FROM rs_pending"))
			if got != tt.want {
				t.Errorf("%q, expected %q", got, tt.want)
			}
		})
	}
}

const (
	insertKey  = "INSERT INTO rs_pending (set_id, change, key, uri)"
	insertKeys = insertKey + " SELECT id, 'updated', CAST(k AS BLOB), 'https://example.org/' || k FROM (SELECT ? AS k UNION ALL SELECT ?) JOIN rs_set ON name = substr(k, 1, 1)"
)

// TestEntrySizes: the journal has the size of the entry of each change, regardless of
// how many are numbered at once. Changes that a host rolls back do not count.
func TestEntrySizes(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell})
		j, err := store.Journal(t.Context(), "papers")
		if err != nil {
			t.Fatal(err)
		}
		times := []time.Time{{}, time.UnixMicro(1), clock.now.Add(-time.Hour), clock.now.Add(time.Hour),
			time.Date(1, 1, 1, 0, 0, 0, 500_000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
		var recorded []resourcesync.Change
		for i := range 2*eventsAtOnce + 7*len(times) {
			c := change([]resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted}[i%3], fmt.Sprintf("%04d", i), i+1)
			c.Resource.LastModified = times[i%len(times)]
			recorded = append(recorded, c)
		}
		host := newWriter(t, db)
		undo := fmt.Errorf("undo")
		record := func(end error, changes ...resourcesync.Change) error {
			return host.transaction(t.Context(), func(tx *sql.Tx) error {
				if err := j.Record(t.Context(), SQLTx(tx), changes...); err != nil {
					return err
				}
				return end
			})
		}
		if err := record(undo, change(resourcesync.Created, "rolled-back", 1)); err != undo {
			t.Fatal(err)
		}
		if err := record(nil, recorded...); err != nil {
			t.Fatal(err)
		}
		if err := record(undo, change(resourcesync.Created, "rolled-back", 2)); err != undo {
			t.Fatal(err)
		}
		if _, err := store.sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sizes []int64
		err = store.db.Query(t.Context(), "SELECT size FROM rs_change ORDER BY at", func(r rowdb.Row) error { sizes = append(sizes, r.Int(0)); return nil })
		if err != nil {
			t.Fatal(err)
		}
		var builder entries.Builder
		var keys []string
		for c, err := range j.Changes(t.Context(), resourcesync.Interval{}) {
			if err != nil {
				t.Fatal(err)
			}
			if i := len(keys); i < len(sizes) && sizes[i] != int64(builder.ChangeSize(&c)) {
				t.Errorf("the entry of %s (%v) has %d bytes, not %d", c.Resource.Key, c.Resource.LastModified, builder.ChangeSize(&c), sizes[i])
			}
			keys = append(keys, c.Resource.Key)
		}
		want := make([]string, len(recorded))
		for i := range recorded {
			want[i] = recorded[i].Resource.Key
		}
		if !slices.Equal(keys, want) || len(sizes) != len(want) {
			t.Errorf("the journal has %q and %d sizes", keys, len(sizes))
		}
	})
}
