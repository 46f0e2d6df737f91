package sqlstore

import (
	"context"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// coversTimeout limits the delay that Covers adds to a request of the host.
const coversTimeout = time.Second

// Covers implements [resourcesync.Coverer]. It reports whether a resource has a URI with
// the same decoded path and the same query, on any scheme and host. While the database
// cannot be reached, it returns false.
func (s *Set) Covers(u *url.URL) bool {
	place := placeOfURL(u)
	if place == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), coversTimeout)
	defer cancel()
	found := false
	err := s.store.db.Do(ctx, func(c rowdb.Conn) error {
		if err := s.checkReady(ctx, c); err != nil {
			return err
		}
		return c.Query(ctx, "SELECT 1 FROM rs_resource"+s.store.byPlace()+" WHERE set_id = $1 AND place = $2 AND place <> 0 LIMIT 1",
			func(rowdb.Row) error { found = true; return nil }, s.id, place)
	})
	return found && err == nil
}

// byPlace returns the hint that makes a query of rs_resource use the index of places.
// Without statistics, or with those of a small table, SQLite prefers the primary key and
// reads the whole set.
func (s *Store) byPlace() string {
	if s.db.Dialect() == rowdb.SQLite {
		return " INDEXED BY rs_resource_place"
	}
	return ""
}
