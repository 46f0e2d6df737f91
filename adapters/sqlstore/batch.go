package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A changeBatch applies edits to a set within an Update. Nothing else changes a set.
type changeBatch struct {
	changes.Batch
	store *Store
	conn  rowdb.Conn
	set   *setRow
	entry entries.Builder

	rows      map[string]row  // of rs_resource, as they were
	withdrawn map[string]bool // which keys had a row of rs_withdrawn

	encoded map[*resourcesync.Resource]*encodedRow // of edits, where they are known
	current bool                                   // the set has not changed since the preload
}

// A row is a row of rs_resource without the resource.
type row struct {
	exists, live bool // it exists without being live to remember a deletion
	newest       int64
	size         int64
	place        int64
}

// apply applies edits in order, and saves the set. before has the rows of the edited keys
// that exist and the encoded edits, or is nil.
func (s *Store) apply(ctx context.Context, c rowdb.Conn, set *setRow, edits []changes.Edit, before *preload) (*changeBatch, error) {
	b := &changeBatch{
		// What readers have seen is later than set.last only if the database has lost changes.
		Batch: changes.Batch{Ready: set.ready, Last: max(set.last, s.survival.seen(set.id)), Count: set.count, Now: s.now},
		store: s, conn: c, set: set,
	}
	if before != nil {
		b.encoded = before.encoded
	}
	if !set.journal {
		if err := b.load(ctx, edits, before); err != nil {
			return nil, err
		}
	}
	b.Apply(edits)
	if vacated := b.Vacated(); len(vacated) > 0 {
		if err := b.loadPlaces(ctx, vacated); err != nil {
			return nil, err
		}
		b.Reannounce(vacated)
	}
	if changed := b.Changed(); len(b.Events) > 0 || len(changed) > 0 {
		if err := b.save(ctx, changed); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// save writes the items with these keys, and the events.
func (b *changeBatch) save(ctx context.Context, changed []string) error {
	b.set.last, b.set.count = b.Last, b.Count
	if b.set.ready {
		if err := b.saveEvents(ctx); err != nil {
			return err
		}
	}
	if !b.set.journal {
		if err := b.saveItems(ctx, changed); err != nil {
			return err
		}
	}
	if b.set.ready {
		if err := b.forget(ctx); err != nil {
			return err
		}
	}
	if err := b.set.save(ctx, b.conn); err != nil {
		return err
	}
	return b.conn.Notify(ctx)
}

func (r *setRow) save(ctx context.Context, c rowdb.Conn) error {
	_, err := c.Exec(ctx, "UPDATE rs_set SET ready = $1, begin = $2, since = $3, last = $4, count = $5, archive = $6 WHERE id = $7",
		number(r.ready), r.begin, r.since, r.last, r.count, r.archive, r.id)
	return err
}

func (b *changeBatch) saveEvents(ctx context.Context) error {
	row := func(i int) []any {
		e := &b.Events[i]
		return []any{b.set.id, e.At, string(e.Type), []byte(e.Resource.Key), b.changeSize(e), b.bodyOf(e.Resource)}
	}
	many := 0
	if b.store.db.Dialect() == rowdb.SQLite {
		many = len(b.Events) / eventsAtOnce
	}
	args := make([]any, 0, 6*eventsAtOnce)
	err := b.conn.ExecEach(ctx, insertEvents, many, func(i int) []any {
		args = args[:0]
		for n := range eventsAtOnce {
			args = append(args, row(i*eventsAtOnce+n)...)
		}
		return args
	})
	if err != nil {
		return err
	}
	rest := many * eventsAtOnce
	return b.conn.ExecEach(ctx, insertEvent, len(b.Events)-rest, func(i int) []any { return row(rest + i) })
}

const insertEvent = "INSERT INTO rs_change (set_id, at, change, key, size, body) VALUES ($1, $2, $3, $4, $5, $6)"

// eventsAtOnce is the number of events that insertEvents inserts.
const eventsAtOnce = 32

// insertEvents is insertEvent for many rows of SQLite, which takes half as long for each. After an
// error, the transaction is rolled back. OR FAIL says so to SQLite, which would otherwise copy
// each page in case that it has to undo only the statement.
var insertEvents = func() string {
	var sql strings.Builder
	sql.WriteString(strings.Replace(insertEvent, "INSERT", "INSERT OR FAIL", 1))
	for n := 7; n <= 6*eventsAtOnce; n += 6 {
		fmt.Fprintf(&sql, ", ($%d, $%d, $%d, $%d, $%d, $%d)", n, n+1, n+2, n+3, n+4, n+5)
	}
	return sql.String()
}()

// changeSize returns the size of the entry of an event in a Change List, in bytes.
func (b *changeBatch) changeSize(e *changes.Event) int64 {
	if known := b.encoded[e.Resource]; known != nil && known.change != 0 {
		return known.change
	}
	c := e.Change()
	return int64(b.entry.ChangeSize(&c))
}

func (b *changeBatch) saveItems(ctx context.Context, keys []string) error {
	after := make(map[string]row, len(keys))
	var fresh, there, gone []string
	for _, key := range keys {
		r := b.rowOf(b.Items[key])
		after[key] = r
		switch {
		case !r.exists:
			gone = append(gone, key)
		case b.rows[key].exists:
			there = append(there, key)
		default:
			fresh = append(fresh, key)
		}
	}
	err := b.conn.ExecEach(ctx, "INSERT INTO rs_resource (set_id, key, newest, size, place, body) VALUES ($1, $2, $3, $4, $5, $6)", len(fresh),
		func(i int) []any {
			r := after[fresh[i]]
			return []any{b.set.id, []byte(fresh[i]), r.newest, r.size, r.place, b.bodyOf(b.Items[fresh[i]].Live)}
		})
	if err == nil {
		err = b.conn.ExecEach(ctx, "UPDATE rs_resource SET newest = $1, size = $2, place = $3, body = $4 WHERE set_id = $5 AND key = $6", len(there),
			func(i int) []any {
				r := after[there[i]]
				return []any{r.newest, r.size, r.place, b.bodyOf(b.Items[there[i]].Live), b.set.id, []byte(there[i])}
			})
	}
	if err == nil {
		err = b.conn.ExecEach(ctx, "DELETE FROM rs_resource WHERE set_id = $1 AND key = $2", len(gone),
			func(i int) []any { return []any{b.set.id, []byte(gone[i])} })
	}
	if err == nil {
		err = b.saveWithdrawn(ctx, keys)
	}
	if err == nil {
		err = b.updateBlocks(ctx, keys, after)
	}
	return err
}

// rowOf returns the row of an item. A set that awaits its first scan has no journal, so
// it remembers no deletions.
func (b *changeBatch) rowOf(it *changes.Item) row {
	switch {
	case it.Live != nil:
		if e := b.encoded[it.Live]; e != nil {
			return row{exists: true, live: true, newest: it.Newest, size: e.size, place: e.place}
		}
		return row{exists: true, live: true, newest: it.Newest, size: int64(b.entry.ResourceSize(it.Live)), place: b.store.places.of(it.Live.URI)}
	case b.set.ready && it.Newest != 0:
		return row{exists: true, newest: it.Newest}
	}
	return row{}
}

// bodyOf returns the body of r, or nil if r is nil.
func (b *changeBatch) bodyOf(r *resourcesync.Resource) []byte {
	if r == nil {
		return nil
	}
	if e := b.encoded[r]; e != nil {
		return e.body
	}
	return codec.Append(nil, r)
}
