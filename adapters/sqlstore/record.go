package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Tx is a transaction of the host's own on the database of a store, for [Journal.Record].
// pgstore.Tx returns that of pgx, sqlitestore.Tx that of a connection to SQLite, and [SQLTx]
// that of database/sql and of libraries above it. A host with another driver implements Exec.
type Tx interface {
	// Exec runs a statement in the transaction. Its parameters are $1, $2 and so on in
	// PostgreSQL, and question marks in SQLite. Their values are of type int64, string
	// or []byte.
	Exec(ctx context.Context, query string, args ...any) error
}

// SQLTx returns a transaction of database/sql: a *sql.Tx, or a value of another library that
// runs statements in one, such as *sqlx.Tx, bun.Tx or the ConnPool of GORM. Any driver for
// PostgreSQL will do; for SQLite, package sqlitestore says which ones may open the file.
func SQLTx(tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}) Tx {
	return sqlTx(tx.ExecContext)
}

type sqlTx func(ctx context.Context, query string, args ...any) (sql.Result, error)

func (f sqlTx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := f(ctx, query, args...)
	return err
}

// rowsAtOnce returns how many of n rows the next statement inserts. In PostgreSQL one
// statement takes any number. In SQLite there are few different numbers, because drivers keep
// prepared statements, and four parameters a row, which is below the limits of every version.
func rowsAtOnce(d rowdb.Dialect, n int) int {
	switch {
	case d == rowdb.Postgres:
		return min(n, 1000)
	case n >= 64:
		return 64
	case n >= 8:
		return 8
	}
	return 1
}

// Record journals changes as part of the host's transaction. They become visible soon
// after its commit, in the order of the arguments, and leave no trace if it is rolled
// back. [Store.Run] must be running, in this process or in another. Call Record after
// the writes that it records.
//
// A Set determines the type of each change itself: Created of a key that it has is an
// update, Updated of a key that it does not have is a creation, and Deleted of such a
// key is no change. An update is journalled even if the resource is Equal to the one in
// the set, because the host states that it has changed. The Datetime of each change is
// assigned later and ignored here. A deletion needs only the Key.
//
// A Journal publishes the type of change that the host records. A host that knows that
// it has inserted a row records Created. After an upsert it may not know, and records
// Updated; Destinations treat both as the new state of the resource. A deletion needs
// the URI, too. When a resource moves to another URI, record Deleted at the old one and
// then Created at the new one.
//
// A resource cannot be published if its key is empty or longer than
// resourcesync.MaxKeyLength, or if no document can hold its URI or another field (see
// [rsxml.CheckResource]). The error then names the field, and no change is recorded.
func (j *Journal) Record(ctx context.Context, tx Tx, changes ...resourcesync.Change) error {
	j.store.expectRun()
	rows := make([]pendingRow, len(changes))
	for i := range changes {
		c := &changes[i]
		if err := j.checkChange(c); err != nil {
			return j.fail("record", err)
		}
		rows[i] = pendingRow{c.Type, []byte(c.Resource.Key), codec.Append(nil, &c.Resource)}
	}
	for len(rows) > 0 {
		n := rowsAtOnce(j.store.db.Dialect(), len(rows))
		query, args := insertPending(j.store.db, j.id, rows[:n])
		if err := tx.Exec(ctx, query, args...); err != nil {
			return j.fail("record", err)
		}
		rows = rows[n:]
	}
	return nil
}

func (j *Journal) checkChange(c *resourcesync.Change) error {
	switch c.Type {
	case resourcesync.Created, resourcesync.Updated:
		return changes.CheckFields(&c.Resource)
	case resourcesync.Deleted:
		if c.Resource.URI == "" && !j.journalOnly {
			return changes.CheckKey(c.Resource.Key)
		}
		return changes.CheckFields(&c.Resource)
	}
	return fmt.Errorf("unknown type of change %q", c.Type)
}

// pendingTable returns the name of rs_pending for a host with any search path.
func pendingTable(db rowdb.DB) string {
	if schema := db.Schema(); schema != "" {
		return schema + ".rs_pending"
	}
	return "rs_pending"
}

// A pendingRow is a row of rs_pending.
type pendingRow struct {
	change    resourcesync.ChangeType
	key, body []byte
}

// insertPending returns the statement that inserts rows, and its arguments, in a form that
// every driver takes.
func insertPending(db rowdb.DB, set int64, rows []pendingRow) (query string, args []any) {
	into := "INSERT INTO " + pendingTable(db) + " (set_id, change, key, body) "
	if db.Dialect() == rowdb.SQLite {
		for _, r := range rows {
			args = append(args, set, string(r.change), r.key, r.body)
		}
		return into + "VALUES (?,?,?,?)" + strings.Repeat(",(?,?,?,?)", len(rows)-1), args
	}
	changes, keys, bodies := []byte("{"), []byte("{"), []byte("{")
	for i, r := range rows {
		if i > 0 {
			changes, keys, bodies = append(changes, ','), append(keys, ','), append(bodies, ',')
		}
		changes = append(changes, r.change...)
		keys, bodies = appendBytea(keys, r.key), appendBytea(bodies, r.body)
	}
	return into + `SELECT $1::bigint, change, key, body
		FROM unnest($2::text[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS t (change, key, body, n) ORDER BY n`,
		[]any{set, string(append(changes, '}')), string(append(keys, '}')), string(append(bodies, '}'))}
}

// appendBytea appends an element of an array of PostgreSQL's.
func appendBytea(dst, value []byte) []byte {
	return hex.AppendEncode(append(dst, `\\x`...), value)
}
