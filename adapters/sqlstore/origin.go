package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Origin returns the origin that [Set.SetOrigin] has recorded, or "".
func (s *Set) Origin(ctx context.Context) (origin string, err error) {
	err = s.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT coalesce(origin, '') FROM rs_set WHERE id = $1",
			func(row rowdb.Row) error { origin = rowdb.String(row, 0); return nil }, s.id)
	})
	return origin, s.fail("origin", err)
}

// SetOrigin records the origin of the resources in the set, such as a folder. The
// store does not interpret it. A program can compare it before a scan: a listing of
// another folder would delete every resource.
func (s *Set) SetOrigin(ctx context.Context, origin string) error {
	return s.fail("set origin", s.store.db.Update(ctx, func(c rowdb.Conn) error {
		_, err := c.Exec(ctx, "UPDATE rs_set SET origin = $1 WHERE id = $2", origin, s.id)
		return err
	}))
}
