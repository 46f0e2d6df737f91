package pgstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// joinReading joins a process that reads from a standby.
func joinReading(t *testing.T, s *pgtest.Server, servers ...*pgtest.Server) *member {
	t.Helper()
	m := open(t, nil, servers...)
	pool, err := pgxpool.New(t.Context(), fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?connect_timeout=2", s.Port))
	must(t, err)
	t.Cleanup(pool.Close)
	pgstore.ReadFrom(t.Context(), m.store, pool)
	m.start()
	return m
}

func (m *member) standby() sqlstore.StandbyStatus {
	m.t.Helper()
	status, has, err := m.store.Standby(m.t.Context())
	must(m.t, err)
	if !has {
		m.t.Fatal("no standby")
	}
	return status
}

// keys returns the keys that a reader sees, after the version of the set.
func (m *member) keys() map[string]bool {
	m.t.Helper()
	_, err := m.set.Stat(m.t.Context(), resourcesync.Range{})
	must(m.t, err)
	keys := map[string]bool{}
	for r, err := range m.set.Resources(m.t.Context(), resourcesync.Range{}) {
		must(m.t, err)
		keys[r.Key] = true
	}
	return keys
}

// served returns what read did: how many snapshots were of the standby, of the primary because the
// standby was behind, and of the primary because it failed.
func (m *member) served(read func()) [3]int64 {
	m.t.Helper()
	before := m.standby()
	read()
	after := m.standby()
	return [3]int64{after.Reads - before.Reads, after.Behind - before.Behind, after.Failed - before.Failed}
}

// TestReadFrom reads from a standby that lags, ends, comes back, and takes over. Everyday runs check each
// fourth rule of a provider.
func TestReadFrom(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	a := pgtest.Start(t)
	b := a.Standby()
	one := joinReading(t, b, a, b)
	two := join(t, nil, a, b) // it reads from the primary
	fromStandby, fromBehind, fromFailed := [3]int64{1, 0, 0}, [3]int64{0, 1, 0}, [3]int64{0, 0, 1}
	expect := func(want [3]int64, keys ...string) {
		t.Helper()
		if got := one.served(func() {
			if seen := one.keys(); len(seen) != len(keys) {
				t.Errorf("seen %v, want %q", seen, keys)
			}
		}); got != want {
			t.Errorf("served %v, want %v: %+v", got, want, one.standby())
		}
	}
	visible := func(key string) {
		t.Helper()
		two.put(key)
		await(t, key, func() bool { return two.keys()[key] })
	}

	visible("1")
	a.CaughtUp(b)
	expect(fromStandby, "1")
	if got := one.served(func() { one.changes() }); got != fromStandby {
		t.Errorf("changes: served %v", got)
	}

	before := one.standby()
	rules := 0
	providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
		if rules++; rules%needs.Size(4, 1) != 0 {
			t.Skip("only thorough runs check it")
		}
		set, err := one.store.Set(t.Context(), t.Name(), nil)
		must(t, err)
		must(t, set.Put(t.Context(), resources...))
		a.CaughtUp(b)
		return set, &providertest.Options{Put: set.Put, Delete: set.Delete, ExactStat: true}
	})
	if s := one.standby(); s.Reads == before.Reads || s.Failed > before.Failed {
		t.Errorf("%+v, and before %+v", s, before)
	}
	a.CaughtUp(b)

	// The standby does not replay.
	b.Exec("SELECT pg_wal_replay_pause()")
	if s := one.standby(); s.Lag != 0 {
		t.Errorf("a standby that lacks nothing lags %v", s.Lag)
	}
	visible("2")
	expect(fromBehind, "1", "2")
	if got := one.served(func() {
		if len(one.changes()) != 2 {
			t.Error("a change is missing")
		}
	}); got != fromBehind {
		t.Errorf("changes: served %v", got)
	}
	first := one.standby().Lag
	await(t, "a longer lag", func() bool { return one.standby().Lag > first && first > 0 })
	b.Exec("SELECT pg_wal_replay_resume()")
	a.CaughtUp(b)
	expect(fromStandby, "1", "2")
	if s := one.standby(); s.Lag != 0 || s.Err != nil {
		t.Errorf("%+v", s)
	}

	// It crashes and comes back.
	b.Kill()
	expect(fromFailed, "1", "2")
	if s := one.standby(); s.Err == nil || s.FailingSince.IsZero() {
		t.Errorf("%+v", s)
	}
	b.Restart()
	a.CaughtUp(b)
	await(t, "the standby", func() bool { return one.standby().Err == nil })
	expect(fromStandby, "1", "2")

	// It takes over from the primary, and reads stay with it.
	a.Kill()
	b.Promote()
	visible("3")
	await(t, "the new primary", func() bool { return one.standby().Err == nil })
	expect(fromStandby, "1", "2", "3")

	// A standby of the former primary is of no use, even if its changes are as new.
	a.Restart()
	late := a.Standby()
	three := joinReading(t, late, a, b)
	if s := three.standby(); s.Err == nil {
		t.Errorf("%+v", s)
	}
	if got := three.served(func() {
		if len(three.keys()) != 3 {
			t.Error("a resource is missing")
		}
	}); got != fromFailed {
		t.Errorf("served %v", got)
	}
}

func resources(n int) []resourcesync.Resource {
	all := make([]resourcesync.Resource, n)
	for i := range all {
		key := fmt.Sprintf("%06d", i)
		all[i] = resourcesync.Resource{Key: key, URI: "https://example.org/" + key, LastModified: time.Unix(int64(i), 0)}
	}
	return all
}

// TestReadFromWriters has readers in two processes that share a balancer: none sees less than any has
// seen before.
func TestReadFromWriters(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	a := pgtest.Start(t)
	b := a.Standby()
	one, two := joinReading(t, b, a, b), joinReading(t, b, a, b)
	var readers sync.WaitGroup
	var mu sync.Mutex
	most, done := 0, make(chan struct{})
	for _, m := range []*member{one, two, one, two} {
		readers.Go(func() {
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				mu.Lock()
				before := most
				mu.Unlock()
				n := len(m.keys())
				if n < before {
					t.Errorf("%d resources after %d", n, before)
				}
				mu.Lock()
				most = max(most, n)
				mu.Unlock()
			}
		})
	}
	for i := range 100 {
		switch i % 20 {
		case 5:
			b.Exec("SELECT pg_wal_replay_pause()")
		case 15:
			b.Exec("SELECT pg_wal_replay_resume()")
		}
		one.put(fmt.Sprint(i))
	}
	close(done)
	readers.Wait()
	for _, m := range []*member{one, two} {
		if s := m.standby(); s.Reads == 0 || s.Behind == 0 || s.Failed > 0 {
			t.Errorf("%+v", s)
		} else {
			t.Logf("%d reads of the standby, %d of the primary", s.Reads, s.Behind)
		}
	}
}
