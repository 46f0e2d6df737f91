package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Known returns the resources with these keys, in the same order, and the zero Resource
// for a key without one or with a damaged one. Scanners use it to find what has
// changed. It also works while a set awaits its first scan. It sends a few batches of
// queries, because the database may be remote, and reads sorted keys that are close to
// each other in the set much faster.
func (s *Set) Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
	known := make([]resourcesync.Resource, len(keys))
	err := s.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return readRows(ctx, c, s.id, keys, func(i int, row rowdb.Row) (err error) {
			if row.Null(4) {
				return nil
			}
			var d codec.Decoder // a new one, because known[i] keeps its slices
			known[i], err = d.Decode(rowdb.String(row, 4))
			if err != nil {
				s.store.noteDamage(s.name, damagedRow(err, "rs_resource", []byte(keys[i])))
				return nil
			}
			known[i].Key = keys[i]
			return nil
		})
	})
	if err != nil {
		return nil, s.fail("known", err)
	}
	return known, nil
}
