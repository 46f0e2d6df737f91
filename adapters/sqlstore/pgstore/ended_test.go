package pgstore_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
)

// TestReadFromEnded breaks reads off in a standby: each reader gets everything once, and no error.
func TestReadFromEnded(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	a := pgtest.Start(t)
	writer := join(t, nil, a)
	const n = 51_000 // more than a snapshot
	first := resources(1)
	first[0].URI += "/" + strings.Repeat("x", 500) // more than the buffers between the standby and a slow reader
	must(t, writer.set.Put(t.Context(), first...))
	await(t, "the change", func() bool { return a.Exec("SELECT count(*) FROM rs_change") == "1" })
	writer.stop()
	// Put would take seconds. The readers need no sums of the copies.
	const others = "generate_series(1, 50999) i, convert_to(lpad(i::text, 6, '0'), 'UTF8') other"
	a.Exec("INSERT INTO rs_resource SELECT set_id, other, newest + i, size, place, body FROM rs_resource, " + others)
	a.Exec("INSERT INTO rs_change SELECT set_id, at + i, change, other, size, body FROM rs_change, " + others)
	a.Exec("UPDATE rs_set SET last = last + 50999")
	b := a.Standby()
	m := joinReading(t, b, a, b)
	a.CaughtUp(b)
	t.Run("session", func(t *testing.T) { endSessions(t, m, b, n) })
	t.Run("conflict", func(t *testing.T) { endByConflict(t, m, a, b, n) })
}

// endSessions ends the sessions of readers.
func endSessions(t *testing.T, m *member, b *pgtest.Server, n int) {
	for _, at := range []int{1, 300, 30_000, 50_500} {
		i := 0
		before := m.standby()
		for r, err := range m.set.Resources(t.Context(), resourcesync.Range{}) {
			must(t, err)
			if want := fmt.Sprintf("%06d", i); r.Key != want {
				t.Fatalf("%q instead of %q", r.Key, want)
			}
			if i++; i == at {
				b.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
			}
		}
		if i != n {
			t.Errorf("%d resources", i)
		}
		if after := m.standby(); after.Failed == before.Failed {
			t.Errorf("a read that was ended after %d resources has not failed", at)
		}
		await(t, "the standby", func() bool { return m.standby().Err == nil })
	}
}

// endByConflict removes dead rows in the primary while the standby reads a list, so that the standby ends
// the read: "conflict with recovery".
func endByConflict(t *testing.T, m *member, a, b *pgtest.Server, n int) {
	b.Exec("ALTER SYSTEM SET max_standby_streaming_delay = 0")
	b.Exec("SELECT pg_reload_conf()")
	a.Exec("CREATE TABLE foreign_rows (n int)")

	// conflict removes rows that a snapshot of the standby may still read, and waits until the standby
	// has ended the session or the statement, which it reports. The standby counts a conflict of a statement
	// when the transaction ends, so for a while its replay waits instead. If the primary serves the read,
	// there is no conflict.
	conflict := func() bool {
		t.Helper()
		const ended = "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'"
		before := b.Exec(ended)
		a.Exec("INSERT INTO foreign_rows SELECT generate_series(1, 1000)")
		a.Exec("DELETE FROM foreign_rows")
		a.Exec("VACUUM foreign_rows")
		position := a.Exec("SELECT pg_current_wal_insert_lsn()::text")
		for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(20 * time.Millisecond) {
			switch {
			case b.Exec(ended) != before, b.Exec("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction (aborted)'") != "0":
				return true
			case b.Exec("SELECT (pg_last_wal_replay_lsn() >= '"+position+"')::text") == "true":
				return false
			}
		}
		return false
	}
	lists := map[string]iter.Seq2[string, error]{
		"resources": func(yield func(string, error) bool) {
			for r, err := range m.set.Resources(t.Context(), resourcesync.Range{}) {
				if !yield(r.Key, err) {
					return
				}
			}
		},
		"changes": func(yield func(string, error) bool) {
			for c, err := range m.set.Changes(t.Context(), resourcesync.Interval{From: m.since()}) {
				if !yield(c.Resource.Key, err) {
					return
				}
			}
		},
	}
	for name, list := range lists {
		for _, at := range []int{300, 50_500} {
			for failed, tries := int64(0), 0; failed == 0; tries++ {
				if tries == 50 {
					t.Fatalf("%s: no conflict after %d entries", name, at)
				}
				a.CaughtUp(b)
				await(t, "the standby", func() bool { return m.standby().Err == nil })
				i, before, hit := 0, m.standby(), false
				for key, err := range list {
					must(t, err)
					if want := fmt.Sprintf("%06d", i); key != want {
						t.Fatalf("%s: %q instead of %q", name, key, want)
					}
					if i++; i == at {
						hit = conflict()
					}
				}
				if i != n {
					t.Fatalf("%s, a conflict after %d: %d entries", name, at, i)
				}
				if failed = m.standby().Failed - before.Failed; hit && failed == 0 {
					t.Fatalf("%s: a read with a conflict after %d entries has not failed", name, at)
				}
			}
		}
	}
	if !strings.Contains(m.log.String(), "due to conflict with recovery (SQLSTATE 40001)") {
		t.Errorf("the standby never said 40001:\n%s", m.log.String())
	}
}
