package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync"
)

// TestPoison: wrong rows of triggers do not keep other changes from becoming visible,
// and everything can be read.
func TestPoison(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "papers", nil)
		alone, err := store.Journal(t.Context(), "journal")
		if err != nil {
			t.Fatal(err)
		}
		host := newWriter(t, db)
		const most = "9223372036854775807"
		n := 0
		for _, values := range []string{
			"'https://example.org/', " + most + ", " + most + ", 'a', 'b', 'md5:c'",
			"'https://example.org/', -" + most + ", -" + most + ", 'a', 'b', 'md5:c'",
			"'', NULL, NULL, NULL, NULL, NULL",
			"NULL, NULL, NULL, NULL, NULL, NULL",
			"'no URI', 0, 0, '', '', 'nothing of the sort'",
			"'https://example.org/\x01', 1, 1, '\x01', '\x02<', 'md5:'",
			"'" + strings.Repeat("u", 100_000) + "', 1, 1, '" + strings.Repeat("t", 100_000) + "', '', ''",
		} {
			for _, change := range []resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted} {
				for _, name := range []string{"papers", "journal"} {
					n++
					key := fmt.Sprintf("CAST('%d' AS BLOB)", n)
					if db.isPostgres() {
						key = fmt.Sprintf("'\\xff00%02x'::bytea", n)
					}
					_, err := host.db.Exec(fmt.Sprintf(`INSERT INTO rs_pending (set_id, change, key, uri, lastmod, length, type, encoding, hash)
						VALUES ((SELECT id FROM rs_set WHERE name = '%s'), '%s', %s, %s)`, name, change, key, values))
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, j := range []*Journal{&set.Journal, alone} {
			err := host.transaction(t.Context(), func(tx *sql.Tx) error {
				return j.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, "good", 1))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range []*Journal{&set.Journal, alone} {
			lines := journal(t, j)
			if !slices.Contains(lines, "created good 1") {
				t.Errorf("the journal has %d changes, and not the good one", len(lines))
			}
			if windows, err := j.Windows(t.Context(), 2); err != nil || len(windows) < 2 {
				t.Errorf("windows: %v, %v", windows, err)
			}
		}
		if got := articlesOf(t, set); got["good"] == "" {
			t.Error("the set has not the good one")
		}
		if cuts, err := set.Cuts(t.Context(), nil, 2); err != nil || len(cuts) < 2 {
			t.Errorf("cuts: %v, %v", cuts, err)
		}
		checkBlocks(t, set)
		source := new(front)
		source.lead(serve(t, set, 2))
		d := newDestination(t, source)
		for _, name := range []string{"changelist.xml", "resourcelist.xml"} {
			top, err := d.get(t.Context(), documents+name)
			if err != nil || !top.head.Index {
				t.Fatalf("%s: %+v, %v", name, top, err)
			}
			found := false
			for _, e := range top.entries {
				part, err := d.get(t.Context(), e.Loc)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range part.entries {
					found = found || e.Loc == small("good", 1).URI
				}
			}
			if !found {
				t.Errorf("%s has not the good one", name)
			}
		}
	})
}

// TestRecordPartly: changes that a savepoint rolls back are not journalled, for any
// protocol of a driver.
func TestRecordPartly(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	store := db.open(t, nil)
	odd := change(resourcesync.Created, "odd", 1)
	odd.Resource.Key = "a'\\\x00\xff"
	for _, mode := range []string{"cache_statement", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			set := store.mustSet(t, mode, nil)
			conn, err := pgx.Connect(t.Context(), string(db)+"&default_query_exec_mode="+mode)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				if err := set.Record(t.Context(), PgxTx(tx), odd); err != nil {
					return err
				}
				part, err := tx.Begin(t.Context())
				if err != nil {
					return err
				}
				if err := set.Record(t.Context(), PgxTx(part), change(resourcesync.Created, "b", 1)); err != nil {
					return err
				}
				if err := part.Rollback(t.Context()); err != nil {
					return err
				}
				return set.Record(t.Context(), PgxTx(tx), change(resourcesync.Created, "c", 1))
			})
			if err != nil {
				t.Fatal(err)
			}
			host := newWriter(t, db+database("&default_query_exec_mode="+mode))
			err = host.transaction(t.Context(), func(tx *sql.Tx) error {
				if _, err := tx.Exec("SAVEPOINT s"); err != nil {
					return err
				}
				if err := set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, "d", 1)); err != nil {
					return err
				}
				if _, err := tx.Exec("ROLLBACK TO s"); err != nil {
					return err
				}
				return set.Record(t.Context(), SQLTx(tx), odd)
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.sequence(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"created " + odd.Resource.Key + " 1", "created c 1", "updated " + odd.Resource.Key + " 1"}
			if got := journal(t, &set.Journal); !slices.Equal(got, want) {
				t.Errorf("the journal is %q, expected %q", got, want)
			}
		})
	}
}
