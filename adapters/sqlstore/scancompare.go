package sqlstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A listedResource is a resource of the listing.
type listedResource struct {
	key     string
	body    []byte      // nil if it has not changed
	encoded *encodedRow // of body, if the set probably does not have it
}

// flush compares resources with the set, and puts those that differ. Until it returns,
// nothing else uses the connection or the result of the scan.
func (sc *scanRun) flush(ctx context.Context, found []listedResource) error {
	keys := make([][]byte, len(found))
	for i := range found {
		keys[i] = []byte(found[i].key)
	}
	first := make([]string, 0, len(found)) // those that the listing has not had before
	at := make([]int, 0, len(found))       // their positions in found
	err := sc.see(ctx, keys, func(i int) {
		if found[i].body != nil {
			first, at = append(first, found[i].key), append(at, i)
		}
	})
	if err != nil {
		return err
	}
	if len(first) == 0 {
		sc.result.Unchanged += len(found)
		return nil
	}
	set, err := readSet(ctx, sc.conn, sc.set.id)
	if err != nil {
		return err
	}
	before := &preload{last: set.last, forgotten: set.forgotten, rows: map[string]loadedRow{}, encoded: map[*resourcesync.Resource]*encodedRow{}}
	same := make([]bool, len(first))
	if !sc.isOwn(&set) {
		var body []byte
		err = readRows(ctx, sc.conn, sc.set.id, first, func(i int, row rowdb.Row) error {
			if !row.Null(4) {
				body = row.Append(body[:0], 4)
				same[i] = bytes.Equal(body, found[at[i]].body)
			}
			if !same[i] {
				var l loadedRow
				l.read(row, 1)
				before.rows[first[i]] = l
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	var different []changes.Edit
	var builder entries.Builder
	for i, key := range first {
		if same[i] {
			continue
		}
		encoded := found[at[i]].encoded
		if encoded == nil {
			if encoded, err = sc.set.store.encode(key, found[at[i]].body, &builder); err != nil {
				return err
			}
		}
		before.encoded[encoded.resource] = encoded
		different = append(different, changes.Edit{Type: changes.Upsert, Key: key, Resource: encoded.resource})
	}
	sc.result.Unchanged += len(found) - len(different)
	return sc.change(ctx, different, before)
}

// isOwn reports whether this scan has written all rows of set, so that the set has none of
// the resources that are listed for the first time.
func (sc *scanRun) isOwn(set *setRow) bool {
	return !sc.ready && set.count == sc.ownCount && set.last == sc.ownLast
}

// change applies edits, except in ranges that have been scanned meanwhile. before has the
// rows of the edited keys that exist and the encoded edits, or is nil.
func (sc *scanRun) change(ctx context.Context, edits []changes.Edit, before *preload) error {
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
	done, err := sc.set.changeRead(ctx, edits, before)
	if err != nil {
		return err
	}
	done.Counts.AddTo(&sc.result)
	if done.current && before.last == sc.ownLast {
		sc.ownLast, sc.ownCount = done.set.last, done.set.count
	}
	for _, e := range done.Reannounced() {
		sc.noteReannounced(e.Resource.Key, e.At)
	}
	return nil
}

// noteReannounced notes that the store has announced the resource of key again.
func (sc *scanRun) noteReannounced(key string, at int64) {
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
