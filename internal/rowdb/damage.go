package rowdb

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"
)

// ErrDamaged says that something in a database is not as it was written.
var ErrDamaged = errors.New("the database is damaged; restore a backup, or start with an empty database")

// damagedSQLite adds ErrDamaged to an error by which SQLite says that the file at
// path is damaged.
func damagedSQLite(err error, path string) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("file %s: %w: %w", path, ErrDamaged, err)
	}
	return err
}

// damagedPostgres adds ErrDamaged to an error by which PostgreSQL says that a table
// or an index is damaged.
func damagedPostgres(err error) error {
	const dataCorrupted, indexCorrupted = "XX001", "XX002"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == dataCorrupted || e.Code == indexCorrupted) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
