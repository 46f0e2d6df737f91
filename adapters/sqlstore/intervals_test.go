package sqlstore

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// made creates the database with the first scripts only, as an earlier version did, or with all if scripts
// is negative, and fills it.
func (d database) made(t *testing.T, scripts int, fill func(c rowdb.Conn) error) {
	t.Helper()
	folder := "sqlitestore"
	if d.isPostgres() {
		folder = "pgstore"
	}
	all := os.DirFS(folder)
	names, err := fs.Glob(all, "migrations/[0-9]*.sql")
	if err != nil {
		t.Fatal(err)
	}
	if scripts < 0 {
		scripts = len(names)
	}
	old := fstest.MapFS{}
	for _, name := range names[:scripts] {
		script, err := fs.ReadFile(all, name)
		if err != nil {
			t.Fatal(err)
		}
		old[name] = &fstest.MapFile{Data: script}
	}
	var db rowdb.DB
	if d.isPostgres() {
		pool, err := pgxpool.New(t.Context(), string(d))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		db, err = pgdb.New(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
	} else {
		db, err = sqlitedb.Open(t.Context(), string(d), 4)
		if err != nil {
			t.Fatal(err)
		}
	}
	defer db.Close()
	if err := rowdb.Migrate(t.Context(), db, old, nil); err != nil {
		t.Fatal(err)
	}
	if fill == nil {
		return
	}
	if err := db.Update(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
}

// TestD1_StateOfBefore opens a state whose intervals include their beginning and
// exclude their end. Every change is in one window of each division, windows are
// unchanged, and topics continue with the change before which they stopped.
func TestD1_StateOfBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMicro()
		ats := []int64{ // the first is at since, some are next to one another, one is at midnight
			midnight - 5_000_000, midnight - 4_000_000, midnight - 3_000_000, midnight - 2_999_999, midnight - 2_999_998, midnight - 2_999_997,
			midnight, midnight + 1_000_000, midnight + 2_000_000,
		}
		db.made(t, 3, func(c rowdb.Conn) error {
			ctx := t.Context()
			exec := func(sql string, args ...any) {
				t.Helper()
				if _, err := c.Exec(ctx, sql, args...); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			exec("INSERT INTO rs_set (name, journal, ready, begin, since, last, count) VALUES ('papers', 1, 1, $1, $2, $3, 0)", ats[0]-1, ats[0], ats[len(ats)-1])
			for i, at := range ats {
				r := article(i)
				exec("INSERT INTO rs_change (set_id, at, change, key, size, body) VALUES (1, $1, 'updated', $2, 200, $3)", at, []byte(r.Key), codec.Append(nil, &r))
			}
			// One change per window: each ends at the next change.
			for _, at := range ats[1 : len(ats)-1] {
				exec("INSERT INTO rs_window (set_id, most, until, count, bytes) VALUES (1, 1, $1, 1, 200)", at)
			}
			// A day that ends at a change.
			exec("INSERT INTO rs_window (set_id, most, until, count, bytes) VALUES (1, 7, $1, 6, 1200)", midnight)
			// An end between two changes.
			exec("INSERT INTO rs_window (set_id, most, until, count, bytes) VALUES (1, 8, $1, 6, 1200)", midnight-1_000_000)
			exec("INSERT INTO rs_outbox (name) VALUES ('papers')")
			for uri, until := range map[string]int64{
				"all":    (ats[len(ats)-1] + 1) * 1000, // all has been told
				"middle": ats[4] * 1000,                // it was full before the change at that time
				"host":   ats[4]*1000 + 1,              // of a host that counts nanoseconds
			} {
				exec("INSERT INTO rs_topic (outbox_id, uri, number, until_ns, documents, used) VALUES (1, $1, 3, $2, $3, 0)", []byte(uri), until, []byte{})
			}
			exec("INSERT INTO rs_topic (outbox_id, uri, number, documents, used) VALUES (1, $1, 3, $2, 0)", []byte("framework"), []byte{})
			return nil
		})
		store := db.open(t, &Options{Retain: -1})
		journal, err := store.Journal(t.Context(), "papers")
		if err != nil {
			t.Fatal(err)
		}
		read := func(iv resourcesync.Interval) (got []int64) {
			t.Helper()
			for c, err := range journal.Changes(t.Context(), iv) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, c.Datetime.UnixMicro())
			}
			return got
		}
		for most, want := range map[int][]int{1: {1, 1, 1, 1, 1, 1, 1, 1, 1}, 7: {6, 1, 2}, 8: {6, 1, 2}} {
			windows, err := journal.Windows(t.Context(), most)
			if err != nil {
				t.Fatal(err)
			}
			var counts []int
			var all []int64
			for i, iv := range windows {
				changes := read(iv)
				counts, all = append(counts, len(changes)), append(all, changes...)
				if i > 0 && !iv.From.Equal(windows[i-1].Until) {
					t.Errorf("of %d: window %d begins at %v, after %v", most, i, iv.From, windows[i-1].Until)
				}
				if most == 8 && i == 0 && iv.Until.UnixMicro() != midnight-1_000_000 {
					t.Errorf("an end without a change has moved to %v", iv.Until)
				}
			}
			if !slices.Equal(counts, want) || !slices.Equal(all, ats) {
				t.Errorf("of %d: windows have %v changes, want %v: %v", most, counts, want, all)
			}
		}
		outbox := store.mustLog(t, "papers")
		for uri, want := range map[string][]int64{"all": nil, "middle": ats[4:], "host": ats[5:]} {
			state, err := outbox.State(context.Background(), uri)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(resourcesync.Interval{From: state.Until}); !slices.Equal(got, want) || state.Number != 3 {
				t.Errorf("topic %s: number %d, goes on with %v, want %v", uri, state.Number, got, want)
			}
		}
		if state, err := outbox.State(t.Context(), "framework"); err != nil || !state.Until.IsZero() {
			t.Errorf("topic framework: %+v, %v", state, err)
		}
	})
}
