package sqlstore

import (
	"context"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// coversPatience is how long a request of the host's waits to know whether it is
// for a resource.
const coversPatience = time.Second

// Covers implements [resourcesync.Coverer]: it reports whether the path, decoded,
// and the query, as it is written, are those of a resource's URI. Scheme and host
// do not matter. It looks the place up in the database; when that cannot be
// reached, nothing is covered.
func (s *Set) Covers(u *url.URL) bool {
	place := placeOfURL(u)
	if place == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), coversPatience)
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

// byPlace makes a query of rs_resource use the index of places. Without statistics,
// or with those of a small table, SQLite prefers the primary key and reads the
// whole set.
func (s *Store) byPlace() string {
	if s.db.Dialect() == rowdb.SQLite {
		return " INDEXED BY rs_resource_place"
	}
	return ""
}
