package sqlitedb

import (
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// BenchmarkLimit reads a row with a limit that is a parameter, and one with a constant.
func BenchmarkLimit(b *testing.B) {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "test.db"), 2)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	err = db.Update(b.Context(), func(c rowdb.Conn) error {
		return c.Script(b.Context(), "CREATE TABLE numbers (n INTEGER PRIMARY KEY); INSERT INTO numbers VALUES (1), (2), (3)")
	})
	if err != nil {
		b.Fatal(err)
	}
	run := func(sql string, args ...any) func(b *testing.B) {
		return func(b *testing.B) {
			err := db.Do(b.Context(), func(c rowdb.Conn) error {
				return c.QueryEach(b.Context(), sql, b.N, func(int) []any { return args }, func(int, rowdb.Row) error { return nil })
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("parameter", run("SELECT n FROM numbers WHERE n >= $1 ORDER BY n LIMIT $2", 2, 1))
	b.Run("constant", run("SELECT n FROM numbers WHERE n >= $1 ORDER BY n LIMIT 1", 2))
}
