package rowdb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestWrite: all of it or nothing, and in PostgreSQL beside an Update.
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
