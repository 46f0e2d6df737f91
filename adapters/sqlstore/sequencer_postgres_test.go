package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestPoll: a transaction that records a change notifies, unless the sequencer looks for changes by
// itself.
func TestPoll(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	store := db.open(t, nil)
	set := store.mustSet(t, "papers", nil)
	host := newWriter(t, db)
	conn, err := pgx.Connect(t.Context(), string(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var channel string
	if err := conn.QueryRow(t.Context(), "SELECT 'rs_' || md5(current_schema())").Scan(&channel); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "LISTEN "+channel); err != nil {
		t.Fatal(err)
	}
	// notifies records a change, and reports whether that notified.
	notifies := func() bool {
		t.Helper()
		err := host.transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, "a", 1))
		})
		if err == nil {
			_, err = host.db.ExecContext(t.Context(), "SELECT pg_notify($1, 'marker')", channel)
		}
		for n := 0; err == nil; n++ {
			var got *pgconn.Notification
			if got, err = conn.WaitForNotification(t.Context()); err == nil && got.Payload == "marker" {
				return n > 0
			}
		}
		t.Fatal(err)
		return false
	}
	if !notifies() {
		t.Error("before: no notification")
	}
	polled, err := store.db.(rowdb.Poller).Poll(t.Context(), func(context.Context) error {
		for range 3 {
			if notifies() {
				t.Error("a transaction notified while the sequencer looked for changes")
			}
		}
		return nil
	})
	if !polled || err != nil {
		t.Errorf("%t, %v", polled, err)
	}
	if !notifies() {
		t.Error("after: no notification")
	}
}

// TestPollWhileBusy: the sequencer looks for changes by itself while hosts write much, and waits for
// notifications otherwise. It finds all changes.
func TestPollWhileBusy(t *testing.T) {
	t.Parallel()
	db := newPostgres(t)
	store := db.open(t, nil)
	set := store.mustSet(t, "papers", nil)
	run(t, store)
	host := newWriter(t, db)
	polls := func() (n int) {
		err := host.db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ExclusiveLock'
			AND (classid::bigint << 32 | objid::bigint) = hashtextextended('rs_' || md5(current_schema()), 0)`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	record := func(ctx context.Context, key string) error {
		return host.transaction(ctx, func(tx *sql.Tx) error {
			return set.Record(ctx, SQLTx(tx), change(resourcesync.Created, key, 1))
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	written := make([]int, 2)
	for w := range written {
		writers.Go(func() {
			for ctx.Err() == nil {
				if err := record(t.Context(), fmt.Sprintf("%d-%d", w, written[w])); err != nil {
					t.Error(err)
					return
				}
				written[w]++
			}
		})
	}
	eventually(t, func() error {
		if polls() == 0 {
			return errors.New("the sequencer waits for notifications")
		}
		return nil
	})
	stop()
	writers.Wait()
	eventually(t, func() error {
		if polls() > 0 {
			return errors.New("the sequencer still looks for changes")
		}
		return nil
	})
	if err := record(t.Context(), "last"); err != nil {
		t.Fatal(err)
	}
	want := int64(written[0] + written[1] + 1)
	eventually(t, func() error {
		stat, err := set.Stat(t.Context(), resourcesync.Range{})
		if err == nil && stat.Count != want {
			err = fmt.Errorf("%d resources, want %d", stat.Count, want)
		}
		return err
	})
}
