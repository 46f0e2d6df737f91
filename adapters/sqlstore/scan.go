package sqlstore

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// ErrScanning says that a scan was refused because another is under way.
var ErrScanning = errors.New("sqlstore: another scan is under way")

// A ScanResult counts what a scan did.
type ScanResult struct {
	Created, Updated, Deleted int

	// Unchanged counts the resources that were in the set as they are, those
	// named again in the same listing, of which the first holds, and those
	// that were changed otherwise while the scan was under way.
	Unchanged int
}

func (r *ScanResult) add(o ScanResult) {
	r.Created += o.Created
	r.Updated += o.Updated
	r.Deleted += o.Deleted
	r.Unchanged += o.Unchanged
}

// Scan makes the set what a listing says that it is. resources names all of
// them, in any order: what is new or different is put as by [Set.Put], what is
// not named any more is deleted, and the rest is left alone, without anything
// being written. Memory is bounded however many there are; what has been seen is
// remembered in a temporary table.
//
// Resources show in the set as they come. Deletions come last, and only if the
// listing is complete: when it yields an error, or a resource that Put would
// refuse, or when ctx is done, the scan ends with that error and deletes nothing.
// What was put, recorded or deleted while the scan was under way is newer than
// the listing and stays.
//
// One scan of a set runs at a time, in all processes; others fail with
// [ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (ScanResult, error) {
	sc := &scan{set: s}
	locked, err := s.store.db.TryLock(ctx, int32(s.id), func(ctx context.Context) error {
		return s.store.db.Session(ctx, func(c rowdb.Conn) error {
			sc.conn = c
			return sc.run(ctx, resources)
		})
	})
	if err == nil && !locked {
		return ScanResult{}, ErrScanning
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
	found  []edit // not yet compared
	result ScanResult

	// again are the resources that were told of again because of what the scan
	// has found, and when: no change that it would have to respect.
	again map[string]int64
}

func (sc *scan) run(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) error {
	if err := sc.begin(ctx); err != nil {
		return err
	}
	if err := sc.take(ctx, resources); err != nil {
		return err
	}
	if err := sc.sweep(ctx); err != nil {
		return err
	}
	if !sc.ready {
		return sc.set.openUp(ctx)
	}
	return nil
}

// take takes in the listing, as far as it comes.
func (sc *scan) take(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (err error) {
	flushed := time.Now()
	for r, failure := range resources {
		if err = failure; err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = check(&r)
		}
		if err != nil {
			break
		}
		sc.found = append(sc.found, edit{change: put, key: r.Key, body: appendBody(nil, &r)})
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
	table := "CREATE TEMP TABLE rs_seen (key BLOB PRIMARY KEY) WITHOUT ROWID"
	if sc.set.store.db.Dialect() == rowdb.Postgres {
		table = "CREATE TEMP TABLE rs_seen (key bytea PRIMARY KEY)"
	}
	if err := sc.conn.Script(ctx, table); err != nil {
		return err
	}
	row, err := readSet(ctx, sc.conn, sc.set.id)
	sc.begun, sc.ready = row.last, row.ready
	return err
}

// flush compares what has been found with the set and puts what is different.
func (sc *scan) flush(ctx context.Context) error {
	found := sc.found
	var news, different []edit // what the listing has not named before, and of that what to put
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
				if row.Int(1) == 0 {
					different = append(different, *e)
				}
				return nil
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

func (sc *scan) change(ctx context.Context, edits []edit) error {
	if len(edits) == 0 {
		return nil
	}
	for i := range edits {
		edits[i].asOf = max(sc.begun, sc.again[edits[i].key])
	}
	result, told, err := sc.set.change(ctx, edits)
	sc.result.add(result)
	for _, t := range told {
		if sc.again == nil {
			sc.again = map[string]int64{}
		}
		sc.again[t.key] = t.at
	}
	return err
}

// sweep deletes what has been neither seen nor changed since the scan began.
func (sc *scan) sweep(ctx context.Context) error {
	after := []byte{}
	for {
		var gone []edit
		err := sc.conn.Query(ctx, `SELECT key FROM rs_resource r WHERE set_id = $1 AND key > $2 AND newest <= $3 AND body IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM rs_seen s WHERE s.key = r.key) ORDER BY key LIMIT $4`,
			func(row rowdb.Row) error {
				gone = append(gone, edit{change: resourcesync.Deleted, key: rowdb.String(row, 0)})
				return nil
			}, sc.set.id, after, sc.begun, batch)
		if err == nil {
			err = sc.change(ctx, gone)
		}
		if err != nil {
			return err
		}
		if len(gone) < batch {
			break
		}
		after = []byte(gone[batch-1].key)
	}
	return sc.sweepAgain(ctx)
}

// sweepAgain deletes what has not been seen of the resources that were told of again,
// which are newer than the scan. Others may be told of for that.
func (sc *scan) sweepAgain(ctx context.Context) error {
	for len(sc.again) > 0 {
		keys := slices.Sorted(maps.Keys(sc.again))
		keys = keys[:min(len(keys), batch)]
		var gone []edit
		err := sc.conn.QueryEach(ctx, "SELECT EXISTS (SELECT 1 FROM rs_seen WHERE key = $1)", len(keys),
			func(i int) []any { return []any{[]byte(keys[i])} },
			func(i int, row rowdb.Row) error {
				if row.Int(0) == 0 {
					gone = append(gone, edit{change: resourcesync.Deleted, key: keys[i]})
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
			delete(sc.again, key)
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
		row.tick(s.store.now())
		row.ready, row.begin, row.since = true, row.last, row.last
		if err := row.save(ctx, c); err != nil {
			return err
		}
		return c.Notify(ctx)
	})
}
