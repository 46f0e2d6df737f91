package objectstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/static"
)

// A shared is a database that several processes use.
type shared struct {
	open func() *sqlstore.Store
	cut  func() // ends the connections that have locks; nil if there are none
}

// states are databases that processes share, as they are opened by a process.
var states = map[string]func(t *testing.T) shared{"SQLite": inSQLite, "PostgreSQL": inPostgres}

func inSQLite(t *testing.T) shared {
	path := filepath.Join(t.TempDir(), "state.db")
	return shared{open: func() *sqlstore.Store {
		store, err := sqlitestore.OpenFile(t.Context(), path, &sqlstore.Options{Window: time.Millisecond, Logger: quiet})
		must(t, err)
		t.Cleanup(func() { store.Close() })
		return store
	}}
}

func inPostgres(t *testing.T) shared {
	server, schema := needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES"), "bucket_"+strings.ToLower(rand.Text())
	connect := func() *pgxpool.Pool {
		config, err := pgxpool.ParseConfig(server)
		must(t, err)
		config.ConnConfig.RuntimeParams["search_path"] = schema
		config.ConnConfig.RuntimeParams["application_name"] = schema
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		must(t, err)
		t.Cleanup(pool.Close)
		return pool
	}
	admin := connect()
	execute := func(statement string) {
		t.Helper()
		_, err := admin.Exec(context.WithoutCancel(t.Context()), statement)
		must(t, err)
	}
	execute("CREATE SCHEMA " + schema)
	t.Cleanup(func() { execute("DROP SCHEMA " + schema + " CASCADE") })
	return shared{
		open: func() *sqlstore.Store {
			store, err := pgstore.Open(t.Context(), connect(), &sqlstore.Options{Window: time.Millisecond, Logger: quiet})
			must(t, err)
			t.Cleanup(func() { store.Close() })
			return store
		},
		cut: func() {
			execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity a WHERE application_name = '" + schema + `'
				AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory')`)
		},
	}
}

// lockOf returns the lock of a place in a state.
func lockOf(state *sqlstore.Store, place string) objectstore.TryLock {
	return func(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
		return state.TryLock(ctx, place, f)
	}
}

// eachUnconditional runs a test with a bucket of each server that ignores conditions, and each kind of state.
func eachUnconditional(t *testing.T, f func(t *testing.T, b server, in shared)) {
	for name, at := range s3Servers {
		for kind, open := range states {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				b := at.Unconditional(t)
				b.Publish(t, "*")
				f(t, server{
					client: s3bucket.Objects{Client: b.Client, Bucket: b.Name}, public: strings.TrimSuffix(b.Public, "{key}"),
					keys: func() []string { return keysOf(t, b) },
				}, open(t))
			})
		}
	}
}

// TestLockInState: where a bucket ignores conditions, the lock of the state keeps two writers apart that
// the lease does not, and no writers to other places. A writer that loses it writes nothing more.
func TestLockInState(t *testing.T) {
	eachUnconditional(t, func(t *testing.T, b server, in shared) {
		var log strings.Builder
		open := func(place string) *objectstore.Store {
			s, err := objectstore.New(b.client, &objectstore.Options{Prefix: place, TryLock: lockOf(in.open(), place), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, err)
			return s
		}
		robbed := func() { // the lease does not protect the first writer any more
			t.Helper()
			o, err := b.client.Head(t.Context(), prefix+leaseName)
			must(t, err)
			must(t, b.client.Delete(t.Context(), prefix+leaseName, o.ETag))
		}
		first, second, elsewhere := open(prefix), open(prefix), open("other/")
		must(t, first.Lock(t.Context(), leaseName))
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "ignores the conditions of writes, so the lock is in the state") {
			t.Errorf("log: %s", said)
		}
		robbed()
		if err := second.Lock(t.Context(), leaseName); !errors.Is(err, static.ErrLocked) {
			t.Fatalf("the second writer: %v", err)
		}
		must(t, elsewhere.Lock(t.Context(), leaseName))
		must(t, elsewhere.Unlock(t.Context()))
		was, err := first.Write(t.Context(), "a", content("one"), static.Stamp{})
		must(t, err)
		must(t, first.Unlock(t.Context()))

		must(t, second.Lock(t.Context(), leaseName))
		robbed()
		if err := first.Lock(t.Context(), leaseName); !errors.Is(err, static.ErrLocked) {
			t.Fatalf("the first writer: %v", err)
		}
		if in.cut != nil {
			in.cut()
			eventually(t, func() bool {
				was, err = second.Write(t.Context(), "a", content("two"), was)
				return err != nil
			})
			if !errors.Is(err, static.ErrLockLost) {
				t.Errorf("after its connection has ended: %v", err)
			}
			if _, err := second.Remove(t.Context(), "a"); !errors.Is(err, static.ErrLockLost) {
				t.Errorf("after its connection has ended: %v", err)
			}
			must(t, first.Lock(t.Context(), leaseName))
			must(t, first.Unlock(t.Context()))
		}
		must(t, second.Unlock(t.Context()))
		must(t, second.Lock(t.Context(), leaseName))
		must(t, second.Unlock(t.Context()))
	})
}

// TestPublicationLockInState: of two Publications to a bucket that ignores conditions, one writes, also if
// the connection with its lock ends again and again.
func TestPublicationLockInState(t *testing.T) {
	eachUnconditional(t, func(t *testing.T, b server, in shared) {
		var sites [2]*site
		var published [2]*static.Publication
		for i := range sites {
			state := in.open()
			set, err := state.Set(t.Context(), "set", nil)
			must(t, err)
			s := &site{t: t, client: &counted{Client: b.client}, page: 10, store: state, set: set}
			s.Objects = objectstore.Options{Prefix: prefix, Lease: 3 * time.Second, TryLock: lockOf(state, prefix), Logger: quiet}
			s.options = static.Options{Grace: -1, Logger: quiet}
			if sites[i] = s; i == 0 {
				s.put(1, 35, "first")
			}
			p, stop := s.publishEvery(20*time.Millisecond, 0)
			defer stop()
			published[i] = p
		}
		publishing := func() (n int) {
			for _, p := range published {
				if p.Status().Publishing {
					n++
				}
			}
			return n
		}
		eventually(t, func() bool { return publishing() == 1 })
		const rounds = 10
		for round := range rounds {
			sites[0].put(round+1, round+12, fmt.Sprint("round-", round))
			if in.cut != nil {
				in.cut()
			}
			time.Sleep(100 * time.Millisecond)
		}
		done := make(chan error, len(published))
		for _, p := range published {
			go func() { done <- p.Await(t.Context()) }()
		}
		must(t, <-done) // by the one that publishes
		if n := publishing(); n != 1 {
			t.Errorf("%d publish", n)
		}
		if last := b.lastChanges(t); !strings.Contains(last, fmt.Sprintf("text/round-%d", rounds-1)) {
			t.Errorf("the newest Change List: %s", last)
		}
		sites[0].check(b, 35, prefix+leaseName)
	})
}

// lastChanges returns the newest Change List.
func (b server) lastChanges(t *testing.T) string {
	t.Helper()
	last := prefix + "rs/papers/changelist.xml"
	for _, key := range b.keys() {
		if strings.HasPrefix(key, prefix+"rs/papers/changelist/2") {
			last = key // in the order of their times
		}
	}
	res, err := get(b.public + last)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return string(text)
}
