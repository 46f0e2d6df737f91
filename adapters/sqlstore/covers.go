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
	place := s.store.places.ofURL(u)
	if place == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), coversTimeout)
	defer cancel()
	if s.checkReady(ctx, s.store.db) != nil {
		return false
	}
	found, err := rowdb.One(ctx, s.store.db, rowdb.Int,
		"SELECT 1 FROM rs_resource"+s.store.byPlace()+" WHERE set_id = $1 AND place = $2 AND place <> 0 LIMIT 1", s.id, place)
	return found == 1 && err == nil
}

// byPlace returns the hint that makes a query of rs_resource use the index of places.
// Without statistics, or with statistics from when the table was small, SQLite prefers the
// primary key and reads the whole set.
func (s *Store) byPlace() string {
	if s.db.Dialect() == rowdb.SQLite {
		return " INDEXED BY rs_resource_place"
	}
	return ""
}
