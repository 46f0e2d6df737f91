package sqlstore

import (
	"context"
	"hash/fnv"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/changes"
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

// placeOf returns the place of the resource at uri, or 0 if uri is not valid.
func placeOf(uri string) int64 {
	u, err := url.Parse(uri)
	if err != nil {
		return 0
	}
	return placeOfURL(u)
}

// placeOfURL returns a hash of the decoded path and the query of u. It is 0 for a URI
// without a path, such as a URN, which no request can have.
//
// Its first 16 bits are a hash of the folder alone. Scans list folder by folder, so each
// batch writes a few runs of the index of places instead of nearly all of its pages.
func placeOfURL(u *url.URL) int64 {
	path, query := changes.Place(u)
	if path == "" {
		return 0
	}
	name := strings.LastIndexByte(path, '/') + 1
	h := fnv.New64a()
	h.Write([]byte(path[:name]))
	folder := h.Sum64()
	h.Write([]byte(path[name:]))
	h.Write([]byte{0})
	h.Write([]byte(query))
	// FNV mixes its last bytes into the low bits first.
	return int64((folder^folder>>32)<<48 | h.Sum64()<<16>>16 | 1) // never 0
}
