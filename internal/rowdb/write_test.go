package rowdb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestWrite: a Write takes effect completely or not at all, and in PostgreSQL runs
// beside an Update.
func TestWrite(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		table(t, db)
		failure := errors.New("failure")
		for i, result := range []error{nil, failure} {
			err := db.Write(t.Context(), func(c rowdb.Conn) error {
				if err := insert(c, i); err != nil {
					return err
				}
				return result
			})
			if !errors.Is(err, result) {
				t.Errorf("Write returned %v instead of %v", err, result)
			}
		}
		if got := numbers(t, db); !slices.Equal(got, []int64{0}) {
			t.Errorf("after a write and one that failed there are %d", got)
		}
		if db.Dialect() == rowdb.SQLite {
			return
		}
		err := db.Update(t.Context(), func(rowdb.Conn) error {
			return db.Write(t.Context(), func(c rowdb.Conn) error { return insert(c, 2) })
		})
		if err != nil {
			t.Errorf("Write during an Update: %v", err)
		}
		if got := numbers(t, db); !slices.Equal(got, []int64{0, 2}) {
			t.Errorf("after a write beside an Update there are %d", got)
		}
	})
}

// TestTryWrite does not wait for a writer. In PostgreSQL, it need not.
func TestTryWrite(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		table(t, db)
		try := func(n int) (free bool, err error) {
			return db.TryWrite(t.Context(), func(c rowdb.Conn) error { return insert(c, n) })
		}
		if free, err := try(0); !free || err != nil {
			t.Errorf("without a writer: %v, %v", free, err)
		}
		err := db.Update(t.Context(), func(rowdb.Conn) error {
			free, err := try(1)
			if waits := db.Dialect() == rowdb.SQLite; free == waits {
				t.Errorf("beside a writer: %v", free)
			}
			return err
		})
		if err != nil {
			t.Errorf("beside a writer: %v", err)
		}
		if free, err := try(2); !free || err != nil {
			t.Errorf("after a writer: %v, %v", free, err)
		}
		want := []int64{0, 1, 2}
		if db.Dialect() == rowdb.SQLite {
			want = []int64{0, 2}
		}
		if got := numbers(t, db); !slices.Equal(got, want) {
			t.Errorf("there are %d, not %d", got, want)
		}
	})
}
