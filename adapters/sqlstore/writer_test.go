package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// A writer is a host that has a table of articles, and a connection of its own to
// the database of a store, by database/sql.
type writer struct {
	db       *sql.DB
	postgres bool
}

func newWriter(t testing.TB, d database) *writer {
	t.Helper()
	w, err := connectWriter(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.db.Close() })
	return w
}

func connectWriter(d database) (*writer, error) {
	driver, dsn := "pgx", string(d)
	if !d.isPostgres() {
		driver, dsn = "sqlite", "file:"+string(d)+"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=synchronous(full)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	w := &writer{db, d.isPostgres()}
	create := func(run func(sql string, args ...any) (sql.Result, error)) error {
		_, err := run("CREATE TABLE IF NOT EXISTS article (key VARCHAR(100) PRIMARY KEY, version BIGINT NOT NULL)")
		if err == nil {
			_, err = run("CREATE TABLE IF NOT EXISTS article_change (key VARCHAR(100) NOT NULL)")
		}
		return err
	}
	if !w.postgres {
		return w, create(db.Exec)
	}
	return w, w.transaction(context.Background(), func(tx *sql.Tx) error {
		// IF NOT EXISTS does not see tables that other transactions are creating.
		if _, err := tx.Exec("SELECT pg_advisory_xact_lock(20250101)"); err != nil {
			return err
		}
		return create(tx.Exec)
	})
}

func (w *writer) transaction(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// articles returns the versions of all articles by their keys.
func (w *writer) articles(ctx context.Context) (map[string]string, error) {
	rows, err := w.db.QueryContext(ctx, "SELECT key, version FROM article")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key string
		var version int64
		if err := rows.Scan(&key, &version); err != nil {
			return nil, err
		}
		all[key] = articleType(version)
	}
	return all, rows.Err()
}

// changes returns the number of changes of articles.
func (w *writer) changes(ctx context.Context) (n int, err error) {
	err = w.db.QueryRowContext(ctx, "SELECT count(*) FROM article_change").Scan(&n)
	return n, err
}

func articleURI(key string) string { return "https://example.org/articles/" + key }

// articleType returns a type that makes the listed versions differ.
func articleType(version int64) string { return fmt.Sprintf("version/%d", version) }

// errRollback ends a transaction that must leave no trace.
var errRollback = errors.New("rolled back")

// storm writes changes of articles like the worst of hosts, until it has committed n of
// them: several in a transaction, with pauses in between, rollbacks, deletions and new
// creations.
func (w *writer) storm(ctx context.Context, set *Set, rnd *rand.Rand, n int) error {
	for committed := 0; committed < n; {
		changes := 0
		err := w.transaction(ctx, func(tx *sql.Tx) error {
			// In ascending order, so that transactions do not deadlock; some twice.
			keys := make([]int, 1+rnd.IntN(15))
			for i := range keys {
				keys[i] = rnd.IntN(300)
			}
			slices.Sort(keys)
			for _, key := range keys {
				c, err := w.write(ctx, tx, rnd, fmt.Sprintf("%03d", key))
				if err == nil {
					err = set.Record(ctx, SQLTx(tx), c)
				}
				if err != nil {
					return err
				}
				changes++
				if rnd.IntN(20) == 0 {
					time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
				}
			}
			if rnd.IntN(8) == 0 {
				return errRollback
			}
			return nil
		})
		switch {
		case err == nil:
			committed += changes
		case ctx.Err() != nil:
			return ctx.Err()
		case err == errRollback, w.postgres:
			// In PostgreSQL two may also create the same article at once.
		default:
			return err
		}
	}
	return nil
}

// write changes an article and returns the change.
func (w *writer) write(ctx context.Context, tx *sql.Tx, rnd *rand.Rand, key string) (c resourcesync.Change, err error) {
	lock := ""
	if w.postgres {
		lock = " FOR UPDATE"
	}
	var version int64
	next := rnd.Int64N(1 << 40)
	err = tx.QueryRowContext(ctx, "SELECT version FROM article WHERE key = $1"+lock, key).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		c.Type = resourcesync.Created
		_, err = tx.ExecContext(ctx, "INSERT INTO article (key, version) VALUES ($1, $2)", key, next)
	case err == nil && rnd.IntN(3) == 0:
		c.Type = resourcesync.Deleted
		_, err = tx.ExecContext(ctx, "DELETE FROM article WHERE key = $1", key)
	case err == nil:
		c.Type = resourcesync.Updated
		_, err = tx.ExecContext(ctx, "UPDATE article SET version = $1 WHERE key = $2", next, key)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO article_change (key) VALUES ($1)", key)
	}
	c.Resource.Key = key
	if c.Type != resourcesync.Deleted {
		c.Resource.URI = articleURI(key)
		c.Resource.Type = articleType(next)
	}
	return c, err
}
