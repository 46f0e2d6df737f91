package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
)

// A member is a process of a cluster: a store with connections of its own.
type member struct {
	t     *testing.T
	pool  *pgxpool.Pool
	store *sqlstore.Store
	set   *sqlstore.Set
	stop  func()
	log   lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func join(t *testing.T, now func() time.Time, servers ...*pgtest.Server) *member {
	t.Helper()
	m := open(t, now, servers...)
	m.start()
	return m
}

func open(t *testing.T, now func() time.Time, servers ...*pgtest.Server) *member {
	t.Helper()
	m := &member{t: t}
	config, err := pgxpool.ParseConfig(pgtest.Address(servers...) + "&connect_timeout=2&pool_max_conns=4")
	must(t, err)
	pgstore.Follow(config)
	m.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(m.pool.Close)
	m.store, err = pgstore.Open(t.Context(), m.pool, &sqlstore.Options{Logger: slog.New(slog.NewTextHandler(&m.log, nil)), Now: now})
	must(t, err)
	return m
}

func (m *member) start() {
	t := m.t
	t.Helper()
	var err error
	m.set, err = m.store.Set(t.Context(), "papers", nil)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.store.Run(ctx) }()
	m.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(func() {
		m.stop()
		if t.Failed() {
			t.Log(m.log.String())
		}
	})
}

// put changes a resource, and tries again until it has succeeded.
func (m *member) put(key string) {
	m.t.Helper()
	await(m.t, "a change", func() bool {
		ctx, cancel := context.WithTimeout(m.t.Context(), time.Second)
		defer cancel()
		return m.set.Put(ctx, resourcesync.Resource{Key: key, URI: "https://example.org/" + key, LastModified: time.Now()}) == nil
	})
}

// changes returns the datetimes of the changes by their keys, as a reader sees them.
func (m *member) changes() map[string]time.Time {
	m.t.Helper()
	times := map[string]time.Time{}
	since := m.since()
	for c, err := range m.set.Changes(m.t.Context(), resourcesync.Interval{From: since}) {
		must(m.t, err)
		times[c.Resource.Key] = c.Datetime
	}
	return times
}

func (m *member) since() time.Time {
	m.t.Helper()
	since, err := m.set.Since(m.t.Context())
	must(m.t, err)
	return since
}

func newest(times map[string]time.Time) (at time.Time) {
	for _, t := range times {
		if t.After(at) {
			at = t
		}
	}
	return at
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(needs.Patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("waiting for %s", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFailover lets a standby take over from its primary, under two processes.
func TestFailover(t *testing.T) {
	t.Parallel()
	needs.Time(t)

	t.Run("nothing is lost", func(t *testing.T) {
		t.Parallel()
		a := pgtest.Start(t)
		b := a.Standby()
		one, two := join(t, nil, a, b), join(t, nil, a, b)
		for i := range 20 {
			one.put(fmt.Sprint(i))
		}
		before, since := two.changes(), one.since()
		a.CaughtUp(b)
		began := time.Now()
		a.Kill()
		b.Promote()
		promoted := time.Since(began)
		one.put("after")
		t.Logf("without service: %v, of which the promotion took %v", time.Since(began), promoted)
		history := func() string {
			return b.Exec("SELECT convert_from(value, 'UTF8') FROM rs_note WHERE convert_from(key, 'UTF8') = 'history'")
		}
		await(t, "the new history", func() bool { return len(history()) > 0 && history()[len(history())-1] == '2' })
		if one.since() != since || two.since() != since {
			t.Errorf("the journal starts over at %v, %v", one.since(), two.since())
		}
		after := two.changes()
		for key, at := range before {
			if !after[key].Equal(at) {
				t.Errorf("%s: %v has become %v", key, at, after[key])
			}
		}
		if !after["after"].After(newest(before)) {
			t.Errorf("a new change has the time %v, and the last one before %v", after["after"], newest(before))
		}

		// The former primary comes back, and says that it is one.
		a.Restart()
		two.pool.Reset()
		three := join(t, nil, a, b)
		for _, m := range []*member{one, two, three} {
			m.put("returned")
			if _, seen := m.changes()["after"]; !seen {
				t.Error("a process reads the former primary")
			}
		}
		if n := a.Exec("SELECT count(*) FROM rs_change WHERE convert_from(key, 'UTF8') IN ('after', 'returned')"); n != "0" {
			t.Errorf("%s changes were written to the former primary", n)
		}
	})

	t.Run("a process has seen what is lost", func(t *testing.T) {
		t.Parallel()
		a := pgtest.Start(t)
		b := a.Standby()
		behind := func() time.Time { return time.Now().Add(-time.Hour) } // its clock
		one, two := join(t, nil, a, b), join(t, behind, a, b)
		one.put("replicated")
		a.CaughtUp(b)
		b.Cut()
		one.put("lost")
		lost := one.changes()
		a.Kill()
		b.Promote()
		two.put("after")
		await(t, "a new beginning", func() bool { return one.since().After(lost["lost"]) })
		one.put("last")
		if at := two.changes()["last"]; !at.After(lost["lost"]) {
			t.Errorf("a change has the time %v, and the lost one had %v", at, lost["lost"])
		}
		for _, key := range []string{"replicated", "after", "last"} {
			if _, found, err := two.set.Get(t.Context(), key); err != nil || !found {
				t.Errorf("%s: %v, %v", key, found, err)
			}
		}
	})

	t.Run("the process that has seen what is lost dies", func(t *testing.T) {
		t.Parallel()
		a := pgtest.Start(t)
		b := a.Standby()
		one, two := join(t, nil, a, b), join(t, nil, a, b)
		one.put("replicated")
		two.changes()
		a.CaughtUp(b)
		b.Cut()
		one.put("lost")
		lost := one.changes()
		one.stop() // but not Close
		a.Kill()
		b.Promote()
		began := time.Now()
		three := join(t, nil, a, b) // it knows nothing
		await(t, "a new beginning", func() bool { return three.since().After(lost["lost"]) })
		t.Logf("started over after %v", time.Since(began))
		two.put("after")
		if at := three.changes()["after"]; !at.After(lost["lost"]) {
			t.Errorf("a change has the time %v, and the lost one had %v", at, lost["lost"])
		}
	})
}
