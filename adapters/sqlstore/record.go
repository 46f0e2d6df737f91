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

// SQLTx returns a transaction of database/sql, of any driver for the engine of the
// store.
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
	return fmt.Errorf("there is no change %q", c.Type)
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
