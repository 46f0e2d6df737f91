package sqlstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestStopWhenDone: a consumer that stops after its context is done is not called again.
func TestStopWhenDone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set, err := db.open(t, nil).Set(t.Context(), "files", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: "http://example.org/a"}, resourcesync.Resource{Key: "b", URI: "http://example.org/b"}); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(context.Context, func()){
			func(ctx context.Context, cancel func()) {
				for range set.Resources(ctx, resourcesync.Range{}) {
					cancel()
					break
				}
			},
			func(ctx context.Context, cancel func()) {
				for range set.First(ctx, resourcesync.Range{}, 2) {
					cancel()
					break
				}
			},
			func(ctx context.Context, cancel func()) {
				for range set.Changes(ctx, resourcesync.Interval{}) {
					cancel()
					break
				}
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			read(ctx, cancel) // panics if it is called again
			cancel()
		}
	})
}

// asked counts the rows that statements with a limit may return.
type asked struct {
	rowdb.DB
	rows int
}

type askedConn struct {
	rowdb.Conn
	asked *asked
}

func (a *asked) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return a.DB.Snapshot(ctx, func(c rowdb.Conn) error { return f(askedConn{c, a}) })
}

func (c askedConn) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	if limit, ok := args[len(args)-1].(int); ok {
		c.asked.rows += limit
	}
	return c.Conn.Query(ctx, sql, each, args...)
}

// TestStopEarly: a reader that stops early requests few rows, and one that does not gets all.
func TestStopEarly(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "files", nil)
		for _, size := range []int{fewRows - 1, fewRows, fewRows + 1, 3 * fewRows} {
			var all []resourcesync.Resource
			for i := range size {
				all = append(all, small(fmt.Sprintf("%04d", i), 1))
			}
			if err := set.Put(t.Context(), all...); err != nil {
				t.Fatal(err)
			}
			counter := &asked{DB: store.db}
			store.db = counter
			for range set.Resources(t.Context(), resourcesync.Range{}) {
				break
			}
			n := 0
			for r, err := range set.Resources(t.Context(), resourcesync.Range{}) {
				if err != nil || r.Key != all[n].Key {
					t.Fatalf("resource %d of %d is %q, %v", n, size, r.Key, err)
				}
				if n++; n == 1 && counter.rows > 2*fewRows {
					t.Errorf("two readers of one resource ask for %d rows", counter.rows)
				}
			}
			if store.db = counter.DB; n != size {
				t.Errorf("%d resources, want %d", n, size)
			}
		}
	})
}
