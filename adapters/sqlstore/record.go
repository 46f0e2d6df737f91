package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Tx is a transaction of the host on the database of a store, for [Journal.Record].
// pgstore.Tx wraps a transaction of pgx, sqlitestore.Tx a connection to SQLite, and [SQLTx]
// a transaction of database/sql and of libraries above it. A host with another driver
// implements Exec.
type Tx interface {
	// Exec runs a statement in the transaction once for each of args, in order. In SQLite
	// its parameters are question marks, with values of type int64, string and []byte. In
	// PostgreSQL they are $1, $2 and so on, also with values of type []string and [][]byte,
	// which are arrays of text and bytea.
	Exec(ctx context.Context, query string, args ...[]any) error
}

// SQLTx returns a transaction of database/sql: a *sql.Tx, or a value of another library that
// runs statements in one, such as *sqlx.Tx, bun.Tx or the ConnPool of GORM. Any driver for
// PostgreSQL will do; for SQLite, package sqlitestore says which ones may open the file.
func SQLTx(tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}) Tx {
	return sqlTx{tx.ExecContext, tx.PrepareContext}
}

type sqlTx struct {
	exec    func(ctx context.Context, query string, args ...any) (sql.Result, error)
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
}

func (t sqlTx) Exec(ctx context.Context, query string, args ...[]any) error {
	if len(args) == 1 {
		_, err := t.exec(ctx, query, literals(args[0])...)
		return err
	}
	stmt, err := t.prepare(ctx, query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, row := range args {
		if _, err := stmt.ExecContext(ctx, literals(row)...); err != nil {
			return err
		}
	}
	return nil
}

// literals returns args with arrays as PostgreSQL writes them, because database/sql has none.
func literals(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		b := []byte{'{'}
		switch values := arg.(type) {
		case []string:
			for _, v := range values {
				b = append(strconv.AppendQuote(b, v), ',') // the types of changes need no other escapes
			}
		case [][]byte:
			for _, v := range values {
				b = append(hex.AppendEncode(append(b, `\\x`...), v), ',')
			}
		default:
			continue
		}
		args[i] = string(append(bytes.TrimSuffix(b, []byte{','}), '}'))
	}
	return args
}

// Record journals changes as part of the host's transaction. They become visible soon
// after its commit, in the order of the arguments, and leave no trace if it is rolled
// back. [Store.Run] must be running, in this process or in another. Call Record after
// the writes that it records.
//
// A Set determines the type of each change itself: Created of a key that it has is an
// update, Updated of a key that it does not have is a creation, and Deleted of such a
// key is not a change. An update is journalled even if the resource is Equal to the one in
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
		rows[i] = pendingRow{string(c.Type), []byte(c.Resource.Key), codec.Append(nil, &c.Resource)}
	}
	for chunk := range slices.Chunk(rows, recordAtOnce) {
		query, args := insertPending(j.store.db, j.id, chunk)
		if err := tx.Exec(ctx, query, args...); err != nil {
			return j.fail("record", err)
		}
	}
	return nil
}

// recordAtOnce limits the memory for the arguments of a statement.
const recordAtOnce = 200

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

// A pendingRow is a row of rs_pending.
type pendingRow struct {
	change    string
	key, body []byte
}

// insertPending returns the statement that inserts rows, and its arguments. In PostgreSQL one
// statement with arrays inserts all; in SQLite one statement for each is faster.
func insertPending(db rowdb.DB, set int64, rows []pendingRow) (query string, args [][]any) {
	if db.Dialect() == rowdb.SQLite {
		for _, r := range rows {
			args = append(args, []any{set, r.change, r.key, r.body})
		}
		return "INSERT INTO rs_pending (set_id, change, key, body) VALUES (?, ?, ?, ?)", args
	}
	var (
		changes      []string
		keys, bodies [][]byte
	)
	for _, r := range rows {
		changes, keys, bodies = append(changes, r.change), append(keys, r.key), append(bodies, r.body)
	}
	return "INSERT INTO " + db.Schema() + `.rs_pending (set_id, change, key, body)
		SELECT $1::bigint, change, key, body
		FROM unnest($2::text[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS t (change, key, body, n) ORDER BY n`,
		[][]any{{set, changes, keys, bodies}}
}
