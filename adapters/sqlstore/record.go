package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Tx is a transaction of the host's own on the database of a store: [PgxTx],
// [SQLTx] or [SQLiteConn] make it of what the host has.
type Tx struct {
	insert func(ctx context.Context, s *Store, id int64, rows []pendingRow) error
}

// PgxTx is a transaction of pgx.
func PgxTx(tx pgx.Tx) Tx {
	return Tx{func(ctx context.Context, s *Store, id int64, rows []pendingRow) error {
		changes, keys, bodies := make([]string, len(rows)), make([][]byte, len(rows)), make([][]byte, len(rows))
		for i, r := range rows {
			changes[i], keys[i], bodies[i] = string(r.change), r.key, r.body
		}
		_, err := tx.Exec(ctx, "INSERT INTO "+s.pendingTable()+` (set_id, change, key, body)
			SELECT $1, change, key, body FROM unnest($2::text[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS t (change, key, body, n) ORDER BY n`,
			id, changes, keys, bodies)
		return err
	}}
}

// SQLTx is a transaction of database/sql, by whatever driver for PostgreSQL or
// SQLite.
func SQLTx(tx *sql.Tx) Tx {
	return Tx{func(ctx context.Context, s *Store, id int64, rows []pendingRow) error {
		args := make([]any, 0, 4*len(rows))
		for _, r := range rows {
			args = append(args, id, string(r.change), r.key, r.body)
		}
		_, err := tx.ExecContext(ctx, s.insertPending(len(rows)), args...)
		return err
	}}
}

// SQLiteConn is the transaction that a connection to SQLite is in. If it is in
// none, every call of Record with it is a transaction of its own.
func SQLiteConn(conn *sqlite.Conn) Tx {
	return Tx{func(ctx context.Context, s *Store, id int64, rows []pendingRow) error {
		return rowdb.WrapSQLite(conn).ExecEach(ctx, "INSERT INTO rs_pending (set_id, change, key, body) VALUES ($1, $2, $3, $4)", len(rows),
			func(i int) []any { return []any{id, string(rows[i].change), rows[i].key, rows[i].body} })
	}}
}

// A pendingRow is what Record writes into rs_pending.
type pendingRow struct {
	change resourcesync.ChangeType
	key    []byte
	body   []byte
}

// recordAtOnce bounds the number of rows of one statement: with four parameters
// each they stay below what every SQLite and every driver takes.
const recordAtOnce = 200

// Record journals changes as part of the host's transaction: they become visible
// soon after it has been committed, in the order of the arguments, and leave no
// trace if it is rolled back. [Store.Run] must be running, in this process or in
// another. Record after the writes that it tells of.
//
// What type of change it is, the set knows itself: a creation of a key that it
// has is an update, an update of one that it has not is a creation, and a
// deletion of one that it has not is nothing. An update is journalled even if the
// resource is Equal to the one in the set: the host says that it has changed.
// Datetimes are given later; those in changes do not matter. Of a deleted resource,
// Key is enough.
//
// A Journal publishes the kind of change that the host records. A host that knows
// that a write is the first of a row records Created. After an upsert it may not
// know, and records Updated. Destinations treat both as the new state of the
// resource. A Journal needs the URI of a deleted resource, too, and what moves to
// another URI has to be recorded as deleted at the one and then created at the
// other.
//
// If a resource is not fit to be published, because its key is empty or longer
// than resourcesync.MaxKeyLength or because no document can hold its URI or
// another field (see [rsxml.CheckResource]), the error names the field and none
// of the changes is recorded.
func (j *Journal) Record(ctx context.Context, tx Tx, changes ...resourcesync.Change) error {
	j.store.expectRun()
	rows := make([]pendingRow, len(changes))
	for i := range changes {
		c := &changes[i]
		if err := j.checkChange(c); err != nil {
			return j.fail("record", err)
		}
		rows[i] = pendingRow{c.Type, []byte(c.Resource.Key), appendBody(nil, &c.Resource)}
	}
	for first := 0; first < len(rows); first += recordAtOnce {
		if err := tx.insert(ctx, j.store, j.id, rows[first:min(first+recordAtOnce, len(rows))]); err != nil {
			return j.fail("record", err)
		}
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
	return fmt.Errorf("there is no change %q", c.Type)
}

// pendingTable returns the name of rs_pending, good for any search path.
func (s *Store) pendingTable() string {
	if schema := rowdb.Schema(s.db); schema != "" {
		return schema + ".rs_pending"
	}
	return "rs_pending"
}

// insertPending returns the statement that inserts n rows through database/sql,
// where SQLite's drivers agree only on question marks.
func (s *Store) insertPending(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + s.pendingTable() + " (set_id, change, key, body) VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if s.db.Dialect() == rowdb.SQLite {
			b.WriteString("(?,?,?,?)")
			continue
		}
		open := byte('(')
		for p := 4*i + 1; p <= 4*i+4; p++ {
			b.WriteByte(open)
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(p))
			open = ','
		}
		b.WriteByte(')')
	}
	return b.String()
}
