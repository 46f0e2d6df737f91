package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/scan"
)

// postgres names the variable with the database for tests, each of which uses its own
// schema. If it is not set, tests skip what needs PostgreSQL.
const postgres = "RESOURCESYNC_TEST_POSTGRES"

// An engine creates databases, empty at first, on which stores can be opened
// repeatedly.
type engine struct {
	name string
	make func(t testing.TB) database
}

// A database is the place of a store: the path of an SQLite file, or the connection
// string of a PostgreSQL schema.
type database string

func (d database) isPostgres() bool { return strings.Contains(string(d), "://") }

var engines = []engine{{"sqlite", newSQLite}, {"postgres", newPostgres}}

func newSQLite(t testing.TB) database {
	return database(filepath.Join(t.TempDir(), "state.db"))
}

func newPostgres(t testing.TB) database {
	dsn := needs.Variable(t, postgres)
	schema := "sqlstore_" + strings.ToLower(rand.Text())
	execute := func(statement string) {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execute("CREATE SCHEMA " + schema)
	t.Cleanup(func() { execute("DROP SCHEMA " + schema + " CASCADE") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return database(u.String())
}

// eachEngine runs a test on every engine, in parallel with other tests.
func eachEngine(t *testing.T, test func(t *testing.T, db database)) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, e.make(t))
		})
	}
}

// open opens the store in the database, until the test ends.
func (d database) open(t testing.TB, opts *Options) *Store {
	t.Helper()
	s, closeStore, err := d.connect(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	return s
}

func (d database) connect(ctx context.Context, opts *Options) (*Store, func(), error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if !d.isPostgres() {
		s, err := OpenFile(ctx, string(d), &o)
		return s, func() { s.Close() }, err
	}
	pool, err := pgxpool.New(ctx, string(d))
	if err != nil {
		return nil, nil, err
	}
	s, err := OpenPostgres(ctx, pool, &o)
	if err != nil {
		pool.Close()
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	return s, pool.Close, nil
}

// run runs the store's background work until the test ends.
func run(t testing.TB, s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// mustSet opens a set. Scans may delete any number of resources unless opts says
// otherwise.
func (s *Store) mustSet(t testing.TB, name string, opts *scan.SetOptions) *Set {
	t.Helper()
	var o scan.SetOptions
	if opts != nil {
		o = *opts
	}
	o.MaxDelete = cmp.Or(o.MaxDelete, 1)
	set, err := s.Set(context.Background(), name, &o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
