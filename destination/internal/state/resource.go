package state

import (
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// resourceColumns are the columns that readResource reads.
const resourceColumns = "path, r.sets, r.list, r.seen, r.datetime, r.lastmod, r.length, size, r.hashes, etag, modified, asked, vague"

// readResource reads a resource from the columns of row from a number on.
func readResource(row *sqlite.Stmt, from int) Resource {
	r := Resource{
		Path: row.ColumnText(from), Set: row.ColumnText(from + 1), List: row.ColumnText(from + 2), Seen: row.ColumnInt64(from + 3),
		Datetime: fromNanos(row.ColumnInt64(from + 4)), LastMod: fromNanos(row.ColumnInt64(from + 5)),
		Length: toLength(row.ColumnInt64(from + 6)), Size: row.ColumnInt64(from + 7),
		Validators: fetch.Validators{ETag: row.ColumnText(from + 9), LastModified: row.ColumnText(from + 10)},
		Asked:      fromNanos(row.ColumnInt64(from + 11)), Vague: row.ColumnBool(from + 12),
	}
	r.Hashes, _ = resourcesync.AppendHashes(nil, row.ColumnText(from+8))
	return r
}

// Resource returns the member of the copy for uri.
func (s *State) Resource(uri string) (r Resource, ok bool, err error) {
	err = s.query("SELECT "+resourceColumns+" FROM resource r WHERE uri = ?", func(row *sqlite.Stmt) error {
		r, ok = readResource(row, 0), true
		return nil
	}, uri)
	return r, ok, err
}

// SaveResource stores a member of the copy.
func (s *State) SaveResource(uri string, r *Resource) error {
	fold := localname.Fold(r.Path)
	if within(s.folder, fold) {
		s.folder = ""
	}
	return s.exec(`INSERT INTO resource (uri, path, fold, sets, list, seen, datetime, lastmod, length, size, hashes, etag, modified, asked, vague)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
		ON CONFLICT (uri) DO UPDATE SET sets = ?4, list = ?5, seen = ?6, datetime = ?7, lastmod = ?8, length = ?9, size = ?10, hashes = ?11, etag = ?12, modified = ?13, asked = ?14, vague = ?15`,
		uri, r.Path, fold, r.Set, r.List, r.Seen, nanos(r.Datetime), nanos(r.LastMod), length(r.Length), r.Size,
		hashes(r.Hashes), r.Validators.ETag, r.Validators.LastModified, nanos(r.Asked), r.Vague)
}

// DeleteResource removes a member of the copy.
func (s *State) DeleteResource(uri string) error {
	return s.exec("DELETE FROM resource WHERE uri = ?", uri)
}

// Totals returns the number of resources of the copy and their bytes.
func (s *State) Totals() (count, bytes int64, err error) {
	err = s.query("SELECT count(*), coalesce(sum(size), 0) FROM resource", func(row *sqlite.Stmt) error {
		count, bytes = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	})
	return count, bytes, err
}
