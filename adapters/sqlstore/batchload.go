package sqlstore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A preload holds work done before a transaction: rows of the set that have been loaded, and
// resources that have been encoded.
type preload struct {
	last, forgotten int64 // of the set; while they stay the same, so do the rows
	rows            map[string]loadedRow
	encoded         map[*resourcesync.Resource]*encodedRow
}

// An encodedRow is a resource with the columns size, place and body of its row. For a change of
// a journal, it has only the body and the size of the entry of the change.
type encodedRow struct {
	resource    *resourcesync.Resource
	size, place int64
	body        []byte
	change      int64 // 0 if it is not known
}

// encode returns the row of the resource that has this key and body.
func (s *Store) encode(key string, body []byte, builder *entries.Builder) (*encodedRow, error) {
	r, err := codec.Decode(key, body)
	if err != nil {
		return nil, err
	}
	return &encodedRow{resource: r, size: int64(builder.ResourceSize(r)), place: s.places.of(r.URI), body: body}, nil
}

// A loadedRow is a row of rs_resource.
type loadedRow struct {
	row
	body []byte
}

// read reads the columns newest, size, place and body of a row, starting at column
// first.
func (l *loadedRow) read(r rowdb.Row, first int) {
	*l = loadedRow{row: row{exists: true, live: !r.Null(first + 3), newest: r.Int(first), size: r.Int(first + 1), place: r.Int(first + 2)}}
	if l.live {
		l.body = r.Append(nil, first+3)
	}
}

// load reads the items of the edited keys, or takes them from before if these still are
// the rows of the set.
func (b *changeBatch) load(ctx context.Context, edits []changes.Edit, before *preload) error {
	b.Items = make(map[string]*changes.Item, len(edits))
	b.rows = make(map[string]row, len(edits))
	for _, e := range edits {
		b.Items[e.Key] = &changes.Item{}
	}
	keys := slices.Sorted(maps.Keys(b.Items))
	if before != nil && before.last == b.set.last && before.forgotten == b.set.forgotten {
		b.current = true
		for key, l := range before.rows {
			b.loadItem(ctx, key, l)
		}
		return b.loadWithdrawn(ctx, keys)
	}
	err := readRows(ctx, b.conn, b.set.id, keys, func(i int, r rowdb.Row) error {
		var l loadedRow
		l.read(r, 1)
		b.loadItem(ctx, keys[i], l)
		return nil
	})
	if err != nil {
		return err
	}
	return b.loadWithdrawn(ctx, keys)
}

// loadItem loads the item of a key.
func (b *changeBatch) loadItem(ctx context.Context, key string, l loadedRow) {
	b.rows[key] = l.row
	it := &changes.Item{Newest: l.newest}
	b.Items[key] = it
	if l.live {
		var err error
		if it.Live, err = codec.Decode(key, l.body); err != nil {
			b.discard(ctx, key)
		}
	}
}

// discard removes the damaged row of a key from the set. A resource that is put under
// the key is then new. The deletion cannot be published, because the URI is unknown.
func (b *changeBatch) discard(ctx context.Context, key string) {
	b.store.discarded.Store(true)
	b.store.log.LogAttrs(ctx, slog.LevelError, "a damaged resource is discarded; if the next scan lists it, it is published again, but its deletion cannot be published",
		slog.String("set", b.set.name), slog.String("table", "rs_resource"), slog.String("key", key))
	b.Items[key] = &changes.Item{Changed: true}
	b.Count--
}

// loadWithdrawn reads which of the items are withdrawn. Only items with a row without a
// body can be.
func (b *changeBatch) loadWithdrawn(ctx context.Context, keys []string) error {
	var gone []string
	for _, key := range keys {
		if was := b.rows[key]; was.exists && !was.live {
			gone = append(gone, key)
		}
	}
	b.withdrawn = map[string]bool{}
	return b.conn.QueryEach(ctx, "SELECT body FROM rs_withdrawn WHERE set_id = $1 AND key = $2", len(gone),
		func(i int) []any { return []any{b.set.id, []byte(gone[i])} },
		func(i int, r rowdb.Row) (err error) {
			key := gone[i]
			it := b.Items[key]
			b.withdrawn[key] = true
			if it.Withdrawn, err = codec.Decode(key, r.Append(nil, 0)); err != nil {
				b.store.log.LogAttrs(ctx, slog.LevelError, "a damaged resource is discarded; its deletion cannot be published",
					slog.String("set", b.set.name), slog.String("table", "rs_withdrawn"), slog.String("key", key))
				it.Changed = true
			}
			return nil
		})
}

// sharers is the number of resources that are read to find another with a URI. They are
// those with its path and query, on any host.
const sharers = 100

// loadPlaces reads the items that may have these URIs and are not loaded yet. It cannot
// find URIs without a path, such as URNs.
func (b *changeBatch) loadPlaces(ctx context.Context, uris []string) error {
	return b.conn.QueryEach(ctx, "SELECT key, newest, size, place, body FROM rs_resource"+b.store.byPlace()+" WHERE set_id = $1 AND place = $2 AND place <> 0 AND body IS NOT NULL LIMIT $3", len(uris),
		func(i int) []any { return []any{b.set.id, b.store.places.of(uris[i]), sharers} },
		func(_ int, r rowdb.Row) error {
			if key := rowdb.String(r, 0); b.Items[key] == nil {
				var l loadedRow
				l.read(r, 1)
				b.loadItem(ctx, key, l)
			}
			return nil
		})
}
