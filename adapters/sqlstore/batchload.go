package sqlstore

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// load reads the items of the edited keys.
func (b *changeBatch) load(ctx context.Context, edits []changes.Edit) error {
	b.Items = make(map[string]*changes.Item, len(edits))
	b.rows = make(map[string]row, len(edits))
	for _, e := range edits {
		b.Items[e.Key] = &changes.Item{}
	}
	keys := slices.Sorted(maps.Keys(b.Items))
	err := b.conn.QueryEach(ctx, "SELECT newest, size, place, body FROM rs_resource WHERE set_id = $1 AND key = $2", len(keys),
		func(i int) []any { return []any{b.set.id, []byte(keys[i])} },
		func(i int, r rowdb.Row) error {
			b.loadItem(ctx, keys[i], r, 0)
			return nil
		})
	if err != nil {
		return err
	}
	return b.loadWithdrawn(ctx, keys)
}

// loadItem reads the item of a key from the columns newest, size, place and body of a
// row, starting at column first.
func (b *changeBatch) loadItem(ctx context.Context, key string, r rowdb.Row, first int) {
	known := row{exists: true, live: !r.Null(first + 3), newest: r.Int(first), size: r.Int(first + 1), place: r.Int(first + 2)}
	b.rows[key] = known
	it := &changes.Item{Newest: known.newest}
	b.Items[key] = it
	if known.live {
		var err error
		if it.Live, err = codec.Decode(key, r.Append(nil, first+3)); err != nil {
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
		func(i int) []any { return []any{b.set.id, placeOf(uris[i]), sharers} },
		func(_ int, r rowdb.Row) error {
			if key := rowdb.String(r, 0); b.Items[key] == nil {
				b.loadItem(ctx, key, r, 1)
			}
			return nil
		})
}
