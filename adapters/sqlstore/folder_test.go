package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/scan"
)

// entriesOf returns the keys of the entries of a folder, from the keys of a set.
func entriesOf(keys []string, folder string, r resourcesync.Range) []string {
	var entries []string
	for _, key := range keys {
		rest, ok := strings.CutPrefix(key, folder)
		if !ok || !r.Contains(key) {
			continue
		}
		if name, _, isFolder := strings.Cut(rest, "/"); isFolder {
			key = folder + name + "/"
		}
		entries = append(entries, key)
	}
	return slices.Compact(entries)
}

func keysIn(entries []resourcesync.Resource) []string {
	var keys []string
	for _, r := range entries {
		keys = append(keys, r.Key)
	}
	return keys
}

func TestFolder(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "files", nil)
		rnd := rand.New(rand.NewPCG(1, 2))
		var keys []string
		var resources []resourcesync.Resource
		for range 3000 {
			var names []string
			for range 1 + rnd.IntN(4) {
				names = append(names, []string{"a", "a-b", "a.txt", "a0", "~", "z"}[rnd.IntN(6)])
			}
			if rnd.IntN(2) == 0 {
				names = append(names, fmt.Sprintf("%04d", rnd.IntN(10_000)))
			}
			keys = append(keys, strings.Join(names, "/")+".") // no name of a file is that of a folder
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		for _, key := range keys {
			resources = append(resources, small(key, 1))
		}
		for batch := range slices.Chunk(resources, 500) {
			if err := set.Put(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
		}
		// Deleted resources are not entries.
		if err := set.Delete(t.Context(), keys[:len(keys)/5]...); err != nil {
			t.Fatal(err)
		}
		keys = keys[len(keys)/5:]
		for range 300 {
			folder, n := "", 1+rnd.IntN(60)
			if i := strings.LastIndexByte(keys[rnd.IntN(len(keys))], '/'); i >= 0 && rnd.IntN(3) > 0 {
				folder = keys[rnd.IntN(len(keys))]
				folder = folder[:strings.LastIndexByte(folder, '/')+1]
			}
			var r resourcesync.Range
			if rnd.IntN(2) == 0 {
				r.From = keys[rnd.IntN(len(keys))]
			}
			if rnd.IntN(3) == 0 {
				r.To = keys[rnd.IntN(len(keys))]
			}
			want := entriesOf(keys, folder, r)
			entries, err := set.Folder(t.Context(), folder, r, n)
			if got := keysIn(entries); err != nil || !slices.Equal(got, want[:min(n, len(want))]) {
				t.Fatalf("%d entries of %q in %q: got %q, %v, expected %q", n, folder, r, got, err, want)
			}
		}
		entries, err := set.Folder(t.Context(), keys[0][:2], resourcesync.Range{}, 3)
		if err != nil || len(entries) == 0 || entries[0].URI == "" && !strings.HasSuffix(entries[0].Key, "/") {
			t.Errorf("got %v, %v", entries, err)
		}
	})
}

func TestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "files", nil)
		if err := set.Put(t.Context(), small("a", 1), small("b", 1), small("c", 1), small("d", 1)); err != nil {
			t.Fatal(err)
		}
		if err := set.Delete(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			r    resourcesync.Range
			n    int
			want string
		}{
			{resourcesync.Range{}, 9, "a c d"},
			{resourcesync.Range{}, 2, "a c"},
			{resourcesync.Range{From: "b"}, 1, "c"},
			{resourcesync.Range{From: "b", To: "d"}, 9, "c"},
			{resourcesync.Range{From: "x"}, 9, ""},
		} {
			var got []string
			for r, err := range set.First(t.Context(), test.r, test.n) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Key)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("first %d of %q: got %q, expected %q", test.n, test.r, got, test.want)
			}
		}
		for range set.First(t.Context(), resourcesync.Range{}, 9) {
			break
		}
	})
}

func TestFolderErrors(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "files", &scan.SetOptions{AwaitScan: true})
		check := func(ctx context.Context, want error) {
			t.Helper()
			if _, err := set.Folder(ctx, "", resourcesync.Range{}, 9); !errors.Is(err, want) {
				t.Errorf("Folder: got %v, expected %v", err, want)
			}
			for _, err := range set.First(ctx, resourcesync.Range{}, 9) {
				if !errors.Is(err, want) {
					t.Errorf("First: got %v, expected %v", err, want)
				}
			}
		}
		check(t.Context(), resourcesync.ErrNotReady)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check(ctx, context.Canceled)
	})
}

// rowCounter counts the rows that statements return.
type rowCounter struct {
	rowdb.DB
	rows int
}

type countedConn struct {
	rowdb.Conn
	rows *int
}

func (c *rowCounter) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Snapshot(ctx, func(conn rowdb.Conn) error { return f(countedConn{conn, &c.rows}) })
}

func (c countedConn) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return c.Conn.Query(ctx, sql, func(r rowdb.Row) error { *c.rows++; return each(r) }, args...)
}

// TestFolderReads: the number of rows that a page of a folder reads depends on the page
// only.
func TestFolderReads(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "files", nil)
		var resources []resourcesync.Resource
		for i := range 60 {
			for j := range 200 {
				resources = append(resources, small(fmt.Sprintf("%02d/%04d", i, j), 1))
			}
		}
		if _, err := set.Scan(t.Context(), listing(resources...)); err != nil {
			t.Fatal(err)
		}
		counter := &rowCounter{DB: store.db}
		store.db = counter
		for _, test := range []struct {
			folder     string
			n, entries int
			most       int // rows
		}{
			{"", 100, 60, 100 + 60*afterFolder},
			{"", 10, 10, 10 * afterFolder},
			{"07/", 100, 100, 102},
			{"07/", 300, 200, 302},
			{"none/", 300, 0, 2},
		} {
			counter.rows = 0
			entries, err := set.Folder(t.Context(), test.folder, resourcesync.Range{}, test.n)
			if err != nil || len(entries) != test.entries || counter.rows > test.most {
				t.Errorf("folder %q: %d entries, %d rows, %v; expected %d entries of at most %d rows", test.folder, len(entries), counter.rows, err, test.entries, test.most)
			}
		}
	})
}

func BenchmarkFolder(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			set := e.make(b).open(b, nil).mustSet(b, "articles", nil)
			if _, err := set.Scan(b.Context(), articles(rows())); err != nil {
				b.Fatal(err)
			}
			for name, r := range map[string]resourcesync.Range{
				"subfolders": {From: "2026/"},
				"first page": {From: "2026/07/"},
				"last page":  {From: article(rows()/12*12 - 12*300 + 7).Key},
			} {
				folder := r.From[:strings.LastIndexByte(r.From, '/')+1]
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if _, err := set.Folder(b.Context(), folder, r, 200); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
