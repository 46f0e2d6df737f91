package sqlstore

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const (
	oldChanges   = "https://example.org/resourcesync/papers/change/"
	oldFramework = "https://example.org/resourcesync/papers/framework/"
	oldElsewhere = "https://example.net/resourcesync/change/"
)

// restore puts the state in testdata/state9 into a new database. write_test.go there
// says how it was made.
func restore(t *testing.T, db database) {
	folder := filepath.Join("testdata", "state9")
	if db.isPostgres() {
		script, err := os.ReadFile(filepath.Join(folder, "postgres.sql"))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), string(db))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(t.Context(), string(script)); err != nil {
			t.Fatal(err)
		}
		return
	}
	packed, err := os.Open(filepath.Join(folder, "sqlite.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	file, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(string(db), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOldState opens a state with pending notifications, subscriptions that have taken
// all, half or nothing, and kept versions. Everything continues where it was:
// undelivered messages are there, and delivered ones are not sent again.
func TestOldState(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		restore(t, db)
		store := db.open(t, &Options{Retain: -1})
		run(t, store)
		oldSet(t, store)
		const source, hub = "https://example.org/resourcesync/", "https://example.org/websub/"
		for _, name := range []string{source, hub} {
			elapse(t, store, name, time.Minute) // the claims of the process that wrote it end
		}
		log := store.mustLog(t, source)
		oldHubs(t, log)
		oldSubscriptions(t, log, map[string][]string{
			oldChanges + " https://all.example.com/":     {"change 5"},
			oldChanges + " https://half.example.com/":    {"change 3", "change 4", "change 5"},
			oldChanges + " https://none.example.com/":    {"change 1", "change 2", "change 3", "change 4", "change 5"},
			oldChanges + " https://ended.example.com/":   {"change 1", "change 2", "change 3", "change 4", "change 5"},
			oldFramework + " https://all.example.com/":   nil,
			oldChanges + " https://expired.example.com/": {"change 1", "change 2", "change 3", "change 4", "change 5"},
		})
		oldSubscriptions(t, store.mustLog(t, hub), map[string][]string{
			oldElsewhere + " https://half.example.com/": {"elsewhere 2"},
			oldElsewhere + " https://all.example.com/":  nil,
		})
		oldRequests(t, log)
		oldGoesOn(t, log)
	})
}

// oldSet checks the resources and changes, and that kept versions can be read.
func oldSet(t *testing.T, store *Store) {
	set := store.mustSet(t, "papers", nil)
	if a, b := covers(t, set, "https://example.org/a"), covers(t, set, "https://example.org/b"); !a || b {
		t.Errorf("a is covered: %t, b, which is deleted: %t", a, b)
	}
	folder := filepath.Join(t.TempDir(), "versions")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "state9", "versions"))); err != nil {
		t.Fatal(err)
	}
	kept, err := versions.Open(folder, 100*365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
		content := ""
		if len(c.Resource.Hashes) > 0 {
			r, err := kept.OpenChange(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			content = string(b)
		}
		got = append(got, string(c.Type)+" "+c.Resource.Key+" "+content)
	}
	if want := []string{"created a one", "updated a two", "created b ", "deleted b "}; !slices.Equal(got, want) {
		t.Errorf("the changes are %q instead of %q", got, want)
	}
}

// oldHubs checks the cursors of hubs.
func oldHubs(t *testing.T, log pushlog.Log) {
	for _, want := range []struct {
		pushlog.HubCursor
		next []string
	}{
		{pushlog.HubCursor{Topic: oldChanges, Hub: "https://hub.example.net/", Cursor: pushlog.Cursor{Taken: 4, Failures: 3, LastError: "the hub answered 500"}, Refused: 1, LastRefused: 2, RefusedError: "the hub answered 400"},
			[]string{"change 4", "change 5"}},
		{pushlog.HubCursor{Topic: oldFramework, Hub: "https://hub.example.net/", Cursor: pushlog.Cursor{Taken: 3}}, nil},
	} {
		c, err := log.HubCursor(t.Context(), want.Topic, want.Hub)
		if err != nil {
			t.Fatal(err)
		}
		c.FailingSince, c.Retry = time.Time{}, time.Time{}
		if c != want.HubCursor {
			t.Errorf("a cursor is %+v instead of %+v", c, want.HubCursor)
		}
		if next := texts(t, log, c.Topic, c.Taken); !slices.Equal(next, want.next) {
			t.Errorf("the hub is sent %q next instead of %q", next, want.next)
		}
	}
}

// oldSubscriptions checks the next messages of subscriptions, and that exactly these
// can be claimed.
func oldSubscriptions(t *testing.T, log pushlog.Log, want map[string][]string) {
	n := 0
	for s, err := range log.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		name := s.Topic + " " + s.Callback
		next, found := want[name]
		if got := texts(t, log, s.Topic, s.Progress.Taken); !found || !slices.Equal(got, next) {
			t.Errorf("%s is sent %q next instead of %q", name, got, next)
		}
		if string(s.Secret) == "" || s.Made.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	if n != len(want) {
		t.Errorf("there are %d subscriptions, not %d", n, len(want))
	}
	claimed, err := log.Claim(t.Context(), "new", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range claimed {
		if len(want[s.Topic+" "+s.Callback]) == 0 {
			t.Errorf("%+v can be claimed, and has taken all", s)
		}
	}
	if len(claimed) == 0 {
		t.Error("nothing can be claimed")
	}
}

// oldRequests checks that requests are verified, and can be applied.
func oldRequests(t *testing.T, log pushlog.Log) {
	claimed, err := log.ClaimRequests(t.Context(), "new", 10)
	if err != nil || len(claimed) != 2 {
		t.Fatalf("%+v, %v", claimed, err)
	}
	ended, added := claimed[0], claimed[1]
	if !ended.End || ended.Topic != oldChanges || added.End || added.Topic != oldFramework || string(added.Secret) != "secret of new" {
		t.Errorf("the requests are %+v", claimed)
	}
	for _, r := range claimed {
		if err := log.Apply(t.Context(), "new", r, time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Apply of %+v: %v", r, err)
		}
	}
	next := added
	next.Callback = "https://next.example.com/"
	if err := log.Request(t.Context(), next, pushlog.Limits{Topic: 3}); err != nil {
		t.Errorf("Request: %v", err)
	}
	if err := log.Request(t.Context(), next, pushlog.Limits{Topic: 2}); err == nil {
		t.Error("Request counts fewer subscriptions than there are")
	}
}

// oldGoesOn checks that states are unchanged, and appends to them.
func oldGoesOn(t *testing.T, log pushlog.Log) {
	for uri, want := range map[string]pushlog.State{
		oldChanges:   {Number: 6, Until: time.Date(2026, 11, 20, 11, 0, 6, 0, time.UTC)},
		oldFramework: {Number: 3, Documents: "documents"},
	} {
		state, err := log.State(t.Context(), uri)
		if err != nil || !state.Equal(want) {
			t.Errorf("the state is %+v instead of %+v, %v", state, want, err)
		}
		publish(t, log, uri, 1)
	}
	found, err := log.Read(t.Context(), oldChanges, 0, 100, 1<<20)
	if err != nil || len(found) != 6 { // change 1 to 5, and the new one
		t.Fatalf("%d notifications, %v", len(found), err)
	}
	for i, n := range found {
		if n.Number != int64(i+2) || i < 5 && n.CapabilityList != "https://example.org/resourcesync/papers/capabilitylist.xml" || n.Made.IsZero() {
			t.Errorf("%+v", n)
		}
	}
}

// texts returns the bodies of the notifications of a topic after a number.
func texts(t *testing.T, log pushlog.Log, uri string, after int64) (all []string) {
	found, err := log.Read(t.Context(), uri, after, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range found {
		all = append(all, string(n.Body))
	}
	return all
}

// TestOldPlaces opens a state whose places were computed differently.
func TestOldPlaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		const rows = 2*batch + 1
		uri := func(set string, i int) string { return fmt.Sprintf("https://example.org/%s/%d/%d.txt", set, i%7, i) }
		db.made(t, 12, func(c rowdb.Conn) error {
			ctx := t.Context()
			for id, name := range []string{"a", "b"} {
				_, err := c.Exec(ctx, "INSERT INTO rs_set (name, journal, ready, begin, since, last, count, archive) VALUES ($1, 0, 1, 1, 1, 1, $2, 1)", name, rows)
				if err != nil {
					return err
				}
				err = c.ExecEach(ctx, "INSERT INTO rs_resource (set_id, key, newest, size, place, body) VALUES ($1, $2, 1, 100, $3, $4)", rows, func(i int) []any {
					body := codec.Append(nil, &resourcesync.Resource{URI: uri(name, i)})
					switch i {
					case 1:
						body = nil // deleted
					case 2:
						body = []byte("damaged")
					}
					return []any{id + 1, fmt.Append(nil, i), 7919*i + 1, body}
				})
				if err != nil {
					return err
				}
			}
			r := codec.Append(nil, &resourcesync.Resource{URI: uri("a", 1)})
			_, err := c.Exec(ctx, "INSERT INTO rs_withdrawn (set_id, key, at, size, place, body) VALUES (1, $1, 1, 100, 1, $2)", []byte("1"), r)
			return err
		})
		store := db.open(t, nil)
		for _, name := range []string{"a", "b"} {
			set := store.mustSet(t, name, nil)
			for i := range rows {
				if got, want := covers(t, set, uri(name, i)), i != 1 && i != 2; got != want {
					t.Fatalf("resource %d of %s is covered: %t", i, name, got)
				}
			}
		}
		withdrawn, err := rowdb.One(t.Context(), store.db, rowdb.Int, "SELECT place FROM rs_withdrawn")
		if err != nil || withdrawn != (places{}).of(uri("a", 1)) {
			t.Errorf("the place of a withdrawn resource is %d, %v", withdrawn, err)
		}
	})
}

func covers(t *testing.T, set *Set, uri string) bool {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return set.Covers(u)
}
