package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Tx is a transaction of the host's own on the database of a store. The functions
// pgstore.Tx, sqlitestore.Tx and [SQLTx] return one.
type Tx interface {
	// Insert inserts rows into rs_pending, in order. Row i has changes[i], keys[i]
	// and bodies[i]. The table is in the schema of db.
	Insert(ctx context.Context, db rowdb.DB, set int64, changes []string, keys, bodies [][]byte) error
}

// SQLTx returns a transaction of database/sql. Any driver for PostgreSQL will do; for
// SQLite, package sqlitestore says which ones may open the file.
func SQLTx(tx *sql.Tx) Tx { return sqlTx{tx} }

type sqlTx struct{ tx *sql.Tx }

// Insert implements [Tx].
func (t sqlTx) Insert(ctx context.Context, db rowdb.DB, set int64, changes []string, keys, bodies [][]byte) error {
	args := make([]any, 0, 4*len(changes))
	for i := range changes {
		args = append(args, set, changes[i], keys[i], bodies[i])
	}
	_, err := t.tx.ExecContext(ctx, insertPending(db, len(changes)), args...)
	return err
}

// recordAtOnce is the maximum number of rows in a statement. At four parameters each, it
// is below the limits of every version of SQLite and every driver.
const recordAtOnce = 200

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
	n := len(changes)
	types, keys, bodies := make([]string, n), make([][]byte, n), make([][]byte, n)
	for i := range changes {
		c := &changes[i]
		if err := j.checkChange(c); err != nil {
			return j.fail("record", err)
		}
		types[i], keys[i], bodies[i] = string(c.Type), []byte(c.Resource.Key), codec.Append(nil, &c.Resource)
	}
	for first := 0; first < n; first += recordAtOnce {
		end := min(first+recordAtOnce, n)
		if err := tx.Insert(ctx, j.store.db, j.id, types[first:end], keys[first:end], bodies[first:end]); err != nil {
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
	return fmt.Errorf("unknown type of change %q", c.Type)
}

// pendingTable returns the name of rs_pending for a host with any search path.
func pendingTable(db rowdb.DB) string {
	if schema := db.Schema(); schema != "" {
		return schema + ".rs_pending"
	}
	return "rs_pending"
}

// insertPending returns the statement that inserts n rows through database/sql, where
// SQLite's drivers agree only on question marks.
func insertPending(db rowdb.DB, n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + pendingTable(db) + " (set_id, change, key, body) VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if db.Dialect() == rowdb.SQLite {
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
