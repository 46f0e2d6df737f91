package sqlstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// put is the change of a writer who says how a resource is, and not what has
// happened to it. It is nothing if the resource is like that already.
const put resourcesync.ChangeType = ""

// An edit is a change as a writer has told of it.
type edit struct {
	change resourcesync.ChangeType
	key    string
	body   []byte // may be nil if change is Deleted
	asOf   int64  // if not 0, later changes of the key are newer than this
}

// An item is what a set knows of a key: a row of rs_resource, as it was and as
// it is to be.
type item struct {
	before, after row
	changed       bool

	// withdrawn is the resource that has been withdrawn and whose deletion is not
	// journalled yet: a row of rs_withdrawn, as it was and as it is to be.
	withdrawnBefore, withdrawn row
}

type row struct {
	exists bool
	newest int64
	size   int64
	place  int64
	body   []byte // nil once deleted
}

// An event is a change with its place in the journal: a row of rs_change.
type event struct {
	at     int64
	change resourcesync.ChangeType
	key    string
	size   int64
	body   []byte
}

// An application makes edits of one set part of it, within an Update. It is the
// only way in which a set changes, whoever wants it to.
type application struct {
	store  *Store
	conn   rowdb.Conn
	set    *setRow
	items  map[string]*item
	events []event
	result ScanResult
	told   []telling
	sizer  sizer
}

// apply makes edits in the order in which they come, and writes down what has
// become of the set.
func (s *Store) apply(ctx context.Context, c rowdb.Conn, set *setRow, edits []edit) (*application, error) {
	a := &application{store: s, conn: c, set: set, items: make(map[string]*item, len(edits))}
	if err := a.load(ctx, edits); err != nil {
		return nil, err
	}
	now := set.clock(s.now())
	for i := range edits {
		edits[i].body = withoutFuture(edits[i].body, now)
		if err := a.edit(&edits[i]); err != nil {
			return nil, err
		}
	}
	if err := a.tellAgain(ctx); err != nil {
		return nil, err
	}
	if len(a.events) > 0 || a.anyChanged() {
		if err := a.save(ctx); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// anyChanged reports whether there is an item to save.
func (a *application) anyChanged() bool {
	for _, it := range a.items {
		if it.changed {
			return true
		}
	}
	return false
}

// load reads what is known of the keys that are edited.
func (a *application) load(ctx context.Context, edits []edit) error {
	if a.set.journal {
		return nil
	}
	for _, e := range edits {
		a.items[e.key] = &item{}
	}
	keys := slices.Sorted(maps.Keys(a.items))
	err := a.conn.QueryEach(ctx, "SELECT newest, size, place, body FROM rs_resource WHERE set_id = $1 AND key = $2", len(keys),
		func(i int) []any { return []any{a.set.id, []byte(keys[i])} },
		func(i int, r rowdb.Row) error {
			it := a.items[keys[i]]
			it.before.exists, it.before.newest, it.before.size, it.before.place = true, r.Int(0), r.Int(1), r.Int(2)
			if !r.Null(3) {
				it.before.body = r.Append(nil, 3)
			}
			it.after = it.before
			if it.before.body != nil {
				if _, err := a.sizer.decoder.decode(string(it.before.body)); err != nil {
					a.discard(ctx, keys[i], it)
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return a.loadWithdrawn(ctx, keys)
}

// edit decides what an edit is, by what is known of its key.
func (a *application) edit(e *edit) error {
	if a.set.journal {
		return a.record(e.change, e.key, e.body, &item{})
	}
	it := a.items[e.key]
	if e.asOf != 0 && it.before.newest > e.asOf {
		if e.change == put {
			a.result.Unchanged++
		}
		return nil
	}
	switch e.change {
	case withdraw:
		a.withdraw(it)
		return nil
	case release:
		return a.release(e.key, it)
	case resourcesync.Deleted:
		if it.withdrawn.body != nil {
			return a.release(e.key, it)
		}
	default:
		a.restore(it)
	}
	live := it.after.body != nil
	switch {
	case e.change == resourcesync.Deleted && !live:
		return nil
	case e.change == resourcesync.Deleted:
		body, err := a.sizer.farewell(e.body, it.after.body)
		if err != nil {
			return err
		}
		a.result.Deleted++
		a.set.count--
		it.after.body = nil
		return a.record(resourcesync.Deleted, e.key, body, it)
	case e.change == put && live && string(it.after.body) == string(e.body):
		a.result.Unchanged++
		return nil
	case e.change == put && live && sameEntry(it.after.body, e.body):
		a.result.Unchanged++
		it.after.body, it.changed = e.body, true
		return nil
	case live && uriOf(it.after.body) != uriOf(e.body):
		// Destinations know URIs, not keys: what was at the old one is gone,
		// and what is at the new one is new to them.
		farewell, err := a.sizer.farewell(nil, it.after.body)
		if err != nil {
			return err
		}
		a.result.Updated++
		it.after.body = nil
		if err := a.record(resourcesync.Deleted, e.key, farewell, it); err != nil {
			return err
		}
		it.after.body = e.body
		return a.record(resourcesync.Created, e.key, e.body, it)
	case live:
		a.result.Updated++
		it.after.body = e.body
		return a.record(resourcesync.Updated, e.key, e.body, it)
	default:
		a.result.Created++
		a.set.count++
		it.after.body = e.body
		return a.record(resourcesync.Created, e.key, e.body, it)
	}
}

// uriOf returns the URI in a body, which is not checked otherwise.
func uriOf(body []byte) string {
	s := scanner{rest: string(body)}
	s.byte()
	return s.string()
}

// sameEntry reports whether two bodies differ in the Stamp alone. Then there is a
// new body to keep, but no change.
func sameEntry(a, b []byte) bool {
	var da, db decoder
	x, errX := da.decode(string(a))
	y, errY := db.decode(string(b))
	return errX == nil && errY == nil && x.EqualEntry(y)
}

// record gives a change its time. A set that awaits its first scan has no journal
// yet.
func (a *application) record(change resourcesync.ChangeType, key string, body []byte, it *item) error {
	a.set.tick(a.store.now())
	ev := event{at: a.set.last, change: change, key: key, body: body}
	var err error
	if ev.size, err = a.sizer.change(&ev); err != nil {
		return err
	}
	it.changed = true
	it.after = row{exists: true, newest: ev.at, body: it.after.body}
	if it.after.body != nil {
		it.after.size, it.after.place = a.sizer.resource(), a.sizer.place()
	} else if !a.set.ready {
		it.after = row{} // no journal needs to remember it
	}
	a.events = append(a.events, ev)
	return nil
}

// save writes the items and events.
func (a *application) save(ctx context.Context) error {
	if a.set.ready {
		if err := a.saveEvents(ctx); err != nil {
			return err
		}
	}
	if !a.set.journal {
		if err := a.saveItems(ctx); err != nil {
			return err
		}
	}
	if a.set.ready {
		if err := a.forget(ctx); err != nil {
			return err
		}
	}
	if err := a.set.save(ctx, a.conn); err != nil {
		return err
	}
	return a.conn.Notify(ctx)
}

// tick moves the set's clock to the time of the next change: now, but never
// earlier than, nor the same as, that of the change before it.
func (r *setRow) tick(now time.Time) { r.last = max(now.UnixMicro(), r.last+1) }

// clock returns the later of now and the time of the newest change. A clock that
// has gone back puts nothing recorded before into the future.
func (r *setRow) clock(now time.Time) time.Time { return moment(max(now.UnixMicro(), r.last)) }

func (r *setRow) save(ctx context.Context, c rowdb.Conn) error {
	_, err := c.Exec(ctx, "UPDATE rs_set SET ready = $1, begin = $2, since = $3, last = $4, count = $5, archive = $6 WHERE id = $7",
		number(r.ready), r.begin, r.since, r.last, r.count, r.archive, r.id)
	return err
}

func (a *application) saveEvents(ctx context.Context) error {
	return a.conn.ExecEach(ctx, "INSERT INTO rs_change (set_id, at, change, key, size, body) VALUES ($1, $2, $3, $4, $5, $6)", len(a.events),
		func(i int) []any {
			e := &a.events[i]
			return []any{a.set.id, e.at, string(e.change), []byte(e.key), e.size, e.body}
		})
}

func (a *application) saveItems(ctx context.Context) error {
	maps.DeleteFunc(a.items, func(_ string, it *item) bool { return !it.changed })
	keys := slices.Sorted(maps.Keys(a.items))
	var there, gone []string
	for _, key := range keys {
		if a.items[key].after.exists {
			there = append(there, key)
		} else {
			gone = append(gone, key)
		}
	}
	err := a.conn.ExecEach(ctx, `INSERT INTO rs_resource (set_id, key, newest, size, place, body) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (set_id, key) DO UPDATE SET newest = excluded.newest, size = excluded.size, place = excluded.place, body = excluded.body`, len(there),
		func(i int) []any {
			r := &a.items[there[i]].after
			return []any{a.set.id, []byte(there[i]), r.newest, r.size, r.place, r.body}
		})
	if err == nil {
		err = a.conn.ExecEach(ctx, "DELETE FROM rs_resource WHERE set_id = $1 AND key = $2", len(gone),
			func(i int) []any { return []any{a.set.id, []byte(gone[i])} })
	}
	if err == nil {
		err = a.saveWithdrawn(ctx, keys)
	}
	if err == nil {
		err = a.updateBlocks(ctx, keys)
	}
	return err
}
