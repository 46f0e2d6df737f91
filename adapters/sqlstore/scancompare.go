package sqlstore

import (
	"context"
	"slices"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A listedResource is a resource of the listing.
type listedResource struct {
	key  string
	body []byte
}

// flush compares the resources in sc.found with the set, and puts those that differ.
func (sc *scan) flush(ctx context.Context) error {
	found := sc.found
	var first []listedResource   // those that the listing has not had before
	var different []changes.Edit // those of them that differ from the set
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
				first = append(first, *e)
				if row.Int(1) != 0 {
					return nil
				}
				r, err := codec.Decode(e.key, e.body)
				different = append(different, changes.Edit{Type: changes.Upsert, Key: e.key, Resource: r})
				return err
			})
		if err != nil {
			return err
		}
		return sc.conn.ExecEach(ctx, "INSERT INTO rs_seen (key) VALUES ($1)", len(first),
			func(i int) []any { return []any{[]byte(first[i].key)} })
	})
	if err != nil {
		return err
	}
	sc.result.Unchanged += len(found) - len(different)
	clear(found)
	sc.found = found[:0]
	return sc.change(ctx, different)
}

// together runs the statements of f in one transaction, which writes only temporary
// tables.
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

// change applies edits, except those of ranges that have been scanned meanwhile.
func (sc *scan) change(ctx context.Context, edits []changes.Edit) error {
	sc.applying.Lock()
	defer sc.applying.Unlock()
	edits = slices.DeleteFunc(edits, func(e changes.Edit) bool {
		replaced := sc.replaced.Contains(e.Key)
		if replaced && e.Type == changes.Upsert {
			sc.result.Unchanged++
		}
		return replaced
	})
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
		sc.noteReannounced(e.Resource.Key, e.At)
	}
	return nil
}

// noteReannounced notes that the store has announced the resource of key again.
func (sc *scan) noteReannounced(key string, at int64) {
	switch {
	case sc.ranges.Contains(key):
		if sc.reannounced == nil {
			sc.reannounced = map[string]int64{}
		}
		sc.reannounced[key] = at
	case sc.whole != nil:
		sc.whole.applying.Lock()
		defer sc.whole.applying.Unlock()
		sc.whole.noteReannounced(key, at)
	}
}
