package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Known returns the resources with these keys, in the same order, each zero if there
// is none. It also works while a set awaits its first scan, and is what a scanner
// asks for what is known already. A damaged one is not known. All of them are read
// in one query, for a database may be far away.
func (s *Set) Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
	known := make([]resourcesync.Resource, len(keys))
	err := s.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.QueryEach(ctx, "SELECT body FROM rs_resource WHERE set_id = $1 AND key = $2 AND body IS NOT NULL", len(keys),
			func(i int) []any { return []any{s.id, []byte(keys[i])} },
			func(i int, row rowdb.Row) (err error) {
				var d codec.Decoder // whose slices are used again for the next
				known[i], err = d.Decode(rowdb.String(row, 0))
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
