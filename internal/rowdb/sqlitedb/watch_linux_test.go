package sqlitedb

import (
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestLogWatch has another handle commit, as another process does.
func TestLogWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() rowdb.DB {
		db, err := Open(t.Context(), path, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	db, other := open(), open()
	w := watchLog(path + "-wal")
	if w == nil {
		t.Fatal("the system refuses to watch")
	}
	defer w.close()
	for i := range 3 {
		if !w.arm() {
			t.Fatal("the log cannot be watched")
		}
		select {
		case <-w.written():
			t.Fatalf("a write is reported before commit %d", i)
		default:
		}
		err := db.Update(t.Context(), func(c rowdb.Conn) error {
			return c.Script(t.Context(), "CREATE TABLE IF NOT EXISTS numbers (n INTEGER); INSERT INTO numbers VALUES (1)")
		})
		if err != nil {
			t.Fatal(err)
		}
		<-w.written()
		n, err := rowdb.One(t.Context(), other, rowdb.Int, "SELECT count(*) FROM numbers")
		if err != nil || n != int64(i+1) {
			t.Errorf("%d rows, %v", n, err)
		}
	}
	none := watchLog(path + "-none")
	defer none.close()
	if none.arm() {
		t.Error("a log that does not exist is watched")
	}
}
