package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestD3_FutureIsUnknown: a LastModified in the future is recorded as unknown, by all
// ways into the store. A recorded one stays when the clock is set back, and one that an
// earlier version has recorded is removed by the next scan.
func TestD3_FutureIsUnknown(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		start := clock.now
		store := db.open(t, &Options{Now: clock.tell})
		set := store.mustSet(t, "papers", nil)
		alone, err := store.Journal(t.Context(), "journal")
		if err != nil {
			t.Fatal(err)
		}
		clock.now = start.Add(time.Minute)
		at := func(key string, after time.Duration) resourcesync.Resource {
			r := small(key, 1)
			r.LastModified = start.Add(after)
			return r
		}
		past, future := at("past", time.Minute), at("put", time.Hour)
		if err := set.Put(t.Context(), past, future); err != nil {
			t.Fatal(err)
		}
		host := newWriter(t, db)
		for _, j := range []*Journal{&set.Journal, alone} {
			err := host.transaction(t.Context(), func(tx *sql.Tx) error {
				return j.Record(t.Context(), SQLTx(tx), resourcesync.Change{Type: resourcesync.Created, Resource: at("recorded", time.Hour)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := host.db.Exec(fmt.Sprintf(`INSERT INTO rs_pending (set_id, change, key, uri, lastmod)
			VALUES ((SELECT id FROM rs_set WHERE name = 'papers'), 'created', CAST('by trigger' AS %s), 'https://example.org/t', %d)`,
			map[bool]string{false: "BLOB", true: "bytea"}[db.isPostgres()], start.Add(time.Hour).UnixMicro())); err != nil {
			t.Fatal(err)
		}
		if _, err := store.sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range []*Journal{&set.Journal, alone} {
			n := 0
			for c, err := range j.Changes(t.Context(), resourcesync.Interval{}) {
				if n++; err != nil || c.Resource.LastModified.IsZero() != (c.Resource.Key != "past") {
					t.Errorf("%s: %v, %v", c.Resource.Key, c.Resource.LastModified, err)
				}
			}
			if want := map[bool]int{true: 1, false: 4}[j == alone]; n != want {
				t.Errorf("%d changes, want %d", n, want)
			}
		}

		everything := []resourcesync.Resource{past, future, at("recorded", time.Hour), at("by trigger", time.Hour)}
		everything[3].URI, everything[3].Type = "https://example.org/t", ""
		scan := func(what string, want resourcesync.ScanResult) {
			t.Helper()
			if got, err := set.Scan(t.Context(), listing(everything...)); err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
			}
		}
		scan("the same again", resourcesync.ScanResult{Unchanged: 4})
		clock.now = start.Add(-24 * time.Hour)
		scan("a clock that was set back", resourcesync.ScanResult{Unchanged: 4})
		if known, err := set.Known(t.Context(), []string{"past", "put"}); err != nil || !known[0].LastModified.Equal(past.LastModified) || !known[1].LastModified.IsZero() {
			t.Errorf("known: %v, %v", known, err)
		}
		clock.now = start.Add(time.Minute)
		err = store.db.Do(t.Context(), func(c rowdb.Conn) error {
			_, err := c.Exec(t.Context(), "UPDATE rs_resource SET body = $1 WHERE set_id = $2 AND key = $3", codec.Append(nil, &future), set.id, []byte("put"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		scan("what a version before has recorded", resourcesync.ScanResult{Unchanged: 3, Updated: 1})
		if lines := journal(t, &set.Journal); !slices.Contains(lines, "updated put 1") {
			t.Errorf("%q", lines)
		}
	})
}
