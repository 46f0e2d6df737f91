package sqlstore

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// A writer is a host that has a connection of its own to the database of a store,
// by database/sql.
type writer struct{ db *sql.DB }

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
		driver, dsn = "sqlite", "file:"+string(d)+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(full)"
	}
	db, err := sql.Open(driver, dsn)
	return &writer{db}, err
}

func (w *writer) transaction(ctx context.Context, f func(Tx) error) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(SQLTx(tx)); err != nil {
		return err
	}
	return tx.Commit()
}
