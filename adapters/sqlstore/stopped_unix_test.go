//go:build unix

package sqlstore

import (
	"database/sql"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestStopped stops the process that sequences in the middle of its work, as a debugger
// or a severed network would: its connections stay open but silent. Another process
// takes over.
func TestStopped(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	first := startChild(t, db, "storm")
	store := db.open(t, nil)
	set := store.mustSet(t, "articles", nil)
	host := newWriter(t, db)
	record := func(key string) {
		t.Helper()
		err := host.transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, key, 1))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	recorded := time.Now()
	record("by-the-first")
	eventually(t, func() error { return awaitKey(t, set, "by-the-first") })
	ordinary := time.Since(recorded)
	run(t, store)
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	record("by-the-second")
	awaitTakeover(t, set, "by-the-second", ordinary)
}
