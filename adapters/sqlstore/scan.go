package sqlstore

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Scan makes the set what a listing says that it is. resources names all of
// them, in any order: what is new or different is put as by [Set.Put], what is
// not named any more is deleted, and the rest is left alone, without anything
// being written. Memory is bounded however many there are; what has been seen is
// remembered in a temporary table.
//
// Resources show in the set as they come. Deletions come last, and only if the
// listing is complete: when it yields an error, or a resource that Put would refuse,
// or when ctx is done, the scan ends with that error and deletes nothing. A
// [resourcesync.UnreadableError] is the exception: the scan goes on, and keeps the
// resources that the scanner could not read. Resources put, recorded or deleted
// during the scan are newer than the listing and stay.
//
// If the set would lose more than [SetOptions.MaxDelete] allows, all deletions of
// the scan are held: the resources stay listed until they are seen again, until
// [Set.ConfirmDeletions], or until [SetOptions.MaxDeleteHold] is over, and a later
// scan deletes those that are still missing. Creations and updates continue.
// [Set.Delete] and recorded deletions state that a resource is gone; they are never
// held, and do not count. A scanner that learns that single resources are gone calls
// [Set.Withdraw] for them.
//
// One scan of a set runs at a time, in all processes; others fail with
// [resourcesync.ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	sc := &scan{set: s}
	locked, err := s.store.db.TryLock(ctx, int32(s.id), func(ctx context.Context) error {
		return s.store.db.Session(ctx, func(c rowdb.Conn) error {
			sc.conn = c
			s.scanning.Store(true)
			defer s.scanning.Store(false)
			return sc.run(ctx, resources)
		})
	})
	if err == nil && !locked {
		return resourcesync.ScanResult{}, resourcesync.ErrScanning
	}
	return sc.result, s.fail("scan", err)
}

// scanRest is how long what a slow listing has yielded may wait for more.
const scanRest = time.Second

// A scan is under way.
type scan struct {
	set    *Set
	conn   rowdb.Conn // has the temporary table
	begun  int64      // the newest change when the scan began
	ready  bool
	found  []namedResource // not yet compared
	result resourcesync.ScanResult

	// reannounced has the resources that the scan made the store announce again,
	// with the times. These are no changes by other writers.
	reannounced map[string]int64

	clock  int64       // the time when the scan began
	guard  guard.State // after the scan
	judged int64       // the newest change when deletions were judged
}

// A namedResource is a resource as the listing has named it.
type namedResource struct {
	key  string
	body []byte
}

func (sc *scan) run(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) error {
	if err := sc.begin(ctx); err != nil {
		return err
	}
	if err := sc.take(ctx, resources); err != nil {
		return err
	}
	if err := sc.keepUnreadable(ctx); err != nil {
		return err
	}
	missing, err := sc.findMissing(ctx)
	if err != nil {
		return err
	}
	if !sc.ready {
		if err := sc.sweep(ctx); err != nil {
			return err
		}
		return sc.set.openUp(ctx)
	}
	hold, err := sc.judge(ctx, missing)
	if err != nil || hold {
		return err
	}
	if err := sc.sweep(ctx); err != nil {
		return err
	}
	if err := sc.releaseWithdrawn(ctx); err != nil {
		return err
	}
	return sc.settle(ctx)
}

// take takes in the listing, as far as it comes.
func (sc *scan) take(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (err error) {
	flushed := time.Now()
	for r, failure := range resources {
		if unreadable, ok := errors.AsType[*resourcesync.UnreadableError](failure); ok {
			if err := sc.noteUnreadable(ctx, unreadable.Keys); err != nil {
				return err
			}
			continue
		}
		if err = failure; err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = changes.Check(&r)
		}
		if err != nil {
			break
		}
		known := changes.Recorded(&r, sc.begun, sc.set.store.now)
		sc.found = append(sc.found, namedResource{r.Key, appendBody(nil, known)})
		if len(sc.found) == batch || time.Since(flushed) > scanRest {
			if err := sc.flush(ctx); err != nil {
				return err
			}
			flushed = time.Now()
		}
	}
	// A listing that stops without an error because ctx is done is not
	// complete.
	if err == nil {
		err = ctx.Err()
	}
	if e := sc.flush(ctx); err == nil {
		err = e
	}
	return err
}

func (sc *scan) begin(ctx context.Context) error {
	for _, table := range []string{
		"CREATE TEMP TABLE rs_seen (key BLOB PRIMARY KEY) WITHOUT ROWID",
		"CREATE TEMP TABLE rs_missing (key BLOB PRIMARY KEY, newest BIGINT NOT NULL) WITHOUT ROWID",
		"CREATE TEMP TABLE rs_unreadable (lo BLOB PRIMARY KEY, hi BLOB NOT NULL) WITHOUT ROWID",
	} {
		if sc.set.store.db.Dialect() == rowdb.Postgres {
			table = strings.NewReplacer("BLOB", "bytea", "WITHOUT ROWID", "").Replace(table)
		}
		if err := sc.conn.Script(ctx, table); err != nil {
			return err
		}
	}
	row, err := readSet(ctx, sc.conn, sc.set.id)
	sc.begun, sc.ready, sc.clock = row.last, row.ready, sc.set.store.now().UnixMicro()
	return err
}

// flush compares what has been found with the set and puts what is different.
func (sc *scan) flush(ctx context.Context) error {
	found := sc.found
	var news []namedResource     // what the listing has not named before
	var different []changes.Edit // of that, what to put
	err := sc.together(ctx, func() error {
		now := make(map[string]bool, len(found))
		err := sc.conn.QueryEach(ctx, `SELECT EXISTS (SELECT 1 FROM rs_seen WHERE key = $1),
				EXISTS (SELECT 1 FROM rs_resource WHERE key = $1 AND set_id = $2 AND body = $3)`, len(found),
			func(i int) []any { return []any{[]byte(found[i].key), sc.set.id, found[i].body} },
			func(i int, row rowdb.Row) error {
				e := &found[i]
				if row.Int(0) != 0 || now[e.key] {
					return nil
				}
				now[e.key] = true
				news = append(news, *e)
				if row.Int(1) != 0 {
					return nil
				}
				r, err := decodeBody(e.key, e.body)
				different = append(different, changes.Edit{Type: changes.Upsert, Key: e.key, Resource: r})
				return err
			})
		if err != nil {
			return err
		}
		return sc.conn.ExecEach(ctx, "INSERT INTO rs_seen (key) VALUES ($1)", len(news),
			func(i int) []any { return []any{[]byte(news[i].key)} })
	})
	if err != nil {
		return err
	}
	sc.result.Unchanged += len(found) - len(different)
	clear(found)
	sc.found = found[:0]
	return sc.change(ctx, different)
}

// together runs f's statements in one transaction, which only writes what is
// temporary.
func (sc *scan) together(ctx context.Context, f func() error) error {
	err := sc.conn.Script(ctx, "BEGIN")
	if err == nil {
		err = f()
	}
	if err == nil {
		err = sc.conn.Script(ctx, "COMMIT")
	}
	return err
}

func (sc *scan) change(ctx context.Context, edits []changes.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	for i := range edits {
		edits[i].AsOf = max(sc.begun, sc.reannounced[edits[i].Key])
	}
	done, err := sc.set.change(ctx, edits)
	if err != nil {
		return err
	}
	done.Counts.AddTo(&sc.result)
	for _, e := range done.Reannounced() {
		if sc.reannounced == nil {
			sc.reannounced = map[string]int64{}
		}
		sc.reannounced[e.Resource.Key] = e.At
	}
	return nil
}

// sweep deletes missing resources.
func (sc *scan) sweep(ctx context.Context) error {
	after := []byte{}
	for {
		var gone []changes.Edit
		err := sc.conn.Query(ctx, "SELECT key FROM rs_missing WHERE key > $1 ORDER BY key LIMIT $2",
			func(row rowdb.Row) error {
				gone = append(gone, changes.Edit{Type: resourcesync.Deleted, Key: rowdb.String(row, 0)})
				return nil
			}, after, batch)
		if err == nil {
			err = sc.change(ctx, gone)
		}
		if err != nil {
			return err
		}
		if len(gone) < batch {
			break
		}
		after = []byte(gone[batch-1].Key)
	}
	return sc.sweepReannounced(ctx)
}

// sweepReannounced deletes the resources that were announced again and that the
// listing does not name: they are newer than the scan. That may announce others.
func (sc *scan) sweepReannounced(ctx context.Context) error {
	for len(sc.reannounced) > 0 {
		keys := slices.Sorted(maps.Keys(sc.reannounced))
		keys = keys[:min(len(keys), batch)]
		var gone []changes.Edit
		err := sc.conn.QueryEach(ctx, "SELECT EXISTS (SELECT 1 FROM rs_seen WHERE key = $1)", len(keys),
			func(i int) []any { return []any{[]byte(keys[i])} },
			func(i int, row rowdb.Row) error {
				if row.Int(0) == 0 {
					gone = append(gone, changes.Edit{Type: resourcesync.Deleted, Key: keys[i]})
				}
				return nil
			})
		if err != nil {
			return err
		}
		err = sc.change(ctx, gone)
		if err != nil {
			return err
		}
		for _, key := range keys {
			delete(sc.reannounced, key)
		}
	}
	return nil
}

// openUp opens a set that has awaited its first scan: its history and its journal
// begin now.
func (s *Set) openUp(ctx context.Context) error {
	return s.store.db.Update(ctx, func(c rowdb.Conn) error {
		row, err := readSet(ctx, c, s.id)
		if err != nil || row.ready {
			return err
		}
		row.last = changes.Tick(row.last, s.store.now())
		row.ready, row.begin, row.since, row.archive = true, row.last, row.last, row.last
		if err := row.save(ctx, c); err != nil {
			return err
		}
		return c.Notify(ctx)
	})
}
