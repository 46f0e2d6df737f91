package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// migrationSteps are parts of migrations that no script can do, by their numbers.
var migrationSteps = map[int]func(context.Context, rowdb.Conn) error{
	13: computePlaces,
}

// computePlaces computes the places of all resources.
func computePlaces(ctx context.Context, c rowdb.Conn) error {
	for _, table := range []string{"rs_resource", "rs_withdrawn"} {
		if err := computePlacesIn(ctx, c, table); err != nil {
			return err
		}
	}
	return nil
}

func computePlacesIn(ctx context.Context, c rowdb.Conn, table string) error {
	type placed struct {
		set, place int64
		key        []byte
	}
	last := placed{key: []byte{}}
	for {
		rows, err := rowdb.All(ctx, c, func(row rowdb.Row) placed {
			p := placed{set: row.Int(0), key: row.Append([]byte{}, 1)}
			// A damaged resource has no place. The next scan replaces it.
			if r, err := codec.Decode(string(p.key), row.Append(nil, 2)); err == nil {
				p.place = places{}.of(r.URI)
			}
			return p
		}, "SELECT set_id, key, body FROM "+table+" WHERE (set_id, key) > ($1, $2) AND body IS NOT NULL ORDER BY set_id, key LIMIT $3",
			last.set, last.key, batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		last = rows[len(rows)-1]
		err = c.ExecEach(ctx, "UPDATE "+table+" SET place = $1 WHERE set_id = $2 AND key = $3", len(rows),
			func(i int) []any { return []any{rows[i].place, rows[i].set, rows[i].key} })
		if err != nil {
			return err
		}
	}
}
