package hub_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// Deliveries from the durable stores.

func TestV15_FanoutSQLite(t *testing.T) {
	needs.Time(t)
	hub.FanoutFrom(t, sqliteStore(t))
}

func TestV15_FanoutPostgres(t *testing.T)   { hub.FanoutFrom(t, postgresStore(t)) }
func BenchmarkDeliverSQLite(b *testing.B)   { hub.CompareDeliveries(b, sqliteStore(b)) }
func BenchmarkDeliverPostgres(b *testing.B) { hub.CompareDeliveries(b, postgresStore(b)) }

func sqliteStore(tb testing.TB) pushlog.Log {
	db, err := sqlitestore.OpenFile(context.Background(), filepath.Join(tb.TempDir(), "hub.db"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return running(tb, db)
}

// postgresStore returns a store in a new schema of PostgreSQL.
func postgresStore(tb testing.TB) pushlog.Log {
	dsn := needs.Variable(tb, "RESOURCESYNC_TEST_POSTGRES")
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	schema := "hub_" + strings.ToLower(rand.Text())
	u.RawQuery = url.Values{"search_path": {schema}}.Encode()
	pool, err := pgxpool.New(context.Background(), u.String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if _, err := pool.Exec(context.Background(), "CREATE SCHEMA "+schema); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			tb.Error(err)
		}
	})
	db, err := pgstore.Open(context.Background(), pool, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return running(tb, db)
}

// running returns a store of db, which reports new messages.
func running(tb testing.TB, db *sqlstore.Store) pushlog.Log {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	store, err := db.Log(context.Background(), "test")
	if err != nil {
		tb.Fatal(err)
	}
	return pushlog.Unseal(store)
}
