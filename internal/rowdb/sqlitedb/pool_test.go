package sqlitedb

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestFewConnections uses two connections at a time, of which there are many: the caches of
// the others stay empty.
func TestFewConnections(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	used := map[*sqlite.Conn]bool{}
	note := func(c rowdb.Conn) { used[c.(*connection).conn] = true }
	for range 100 {
		err := db.Do(t.Context(), func(c rowdb.Conn) error {
			note(c)
			return db.Do(t.Context(), func(c rowdb.Conn) error { note(c); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(used) != 2 {
		t.Errorf("%d connections were used, not 2", len(used))
	}
}

// TestMoreUsersThanConnections has users who wait for the connections of others.
func TestMoreUsersThanConnections(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		pool, err := openPool(t.Context(), filepath.Join(t.TempDir(), "test.db"), size)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := New(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		own, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), size)
		if err != nil {
			t.Fatal(err)
		}
		for _, db := range []rowdb.DB{hosts, own} {
			var wg sync.WaitGroup
			for range 4 * size {
				wg.Go(func() {
					for range 20 {
						err := db.Do(t.Context(), func(rowdb.Conn) error { time.Sleep(100 * time.Microsecond); return nil })
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
