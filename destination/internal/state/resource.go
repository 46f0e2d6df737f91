package state

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/localname"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// resourceColumns are those that readResource reads.
const resourceColumns = "path, r.sets, r.list, r.seen, r.datetime, r.lastmod, r.length, size, r.hashes, etag, modified"

// readResource reads a resource from the columns of row from a number on.
func readResource(row *sqlite.Stmt, from int) Resource {
	r := Resource{
		Path: row.ColumnText(from), Set: row.ColumnText(from + 1), List: row.ColumnText(from + 2), Seen: row.ColumnInt64(from + 3),
		Datetime: fromNanos(row.ColumnInt64(from + 4)), LastMod: fromNanos(row.ColumnInt64(from + 5)),
		Length: toLength(row.ColumnInt64(from + 6)), Size: row.ColumnInt64(from + 7),
		Validators: fetch.Validators{ETag: row.ColumnText(from + 9), LastModified: row.ColumnText(from + 10)},
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
	return s.exec(`INSERT INTO resource (uri, path, fold, sets, list, seen, datetime, lastmod, length, size, hashes, etag, modified)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (uri) DO UPDATE SET sets = ?4, list = ?5, seen = ?6, datetime = ?7, lastmod = ?8, length = ?9, size = ?10, hashes = ?11, etag = ?12, modified = ?13`,
		uri, r.Path, fold, r.Set, r.List, r.Seen, nanos(r.Datetime), nanos(r.LastMod), length(r.Length), r.Size,
		hashes(r.Hashes), r.Validators.ETag, r.Validators.LastModified)
}

// within reports whether a folder is a path or inside of it.
func within(folder, path string) bool {
	return strings.HasPrefix(folder, path) && (len(folder) == len(path) || folder[len(path)] == '/')
}

// DeleteResource removes a member of the copy.
func (s *State) DeleteResource(uri string) error {
	return s.exec("DELETE FROM resource WHERE uri = ?", uri)
}

// FreePath returns a path for the copy of a new resource that is not the path of another
// one, nor a folder of it, nor inside of it, on any file system.
func (s *State) FreePath(uri, host string) (string, error) {
	name := localname.Of(uri, host)
	free, err := s.free(name)
	if free || err != nil {
		return name, err
	}
	name = localname.Derived(uri)
	if free, err = s.free(name); !free && err == nil {
		err = errNoPath
	}
	return name, err
}

// FreePaths returns all paths that FreePath can return.
func (s *State) FreePaths(uri, host string) (names []string, err error) {
	for _, name := range []string{localname.Of(uri, host), localname.Derived(uri)} {
		free, err := s.free(name)
		if err != nil {
			return nil, err
		}
		if free {
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *State) free(name string) (bool, error) {
	fold := localname.Fold(name)
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM resource WHERE fold = ?1) OR EXISTS (SELECT 1 FROM resource WHERE fold > ?1 || '/' AND fold < ?1 || '0')", fold)
	if n > 0 || err != nil {
		return false, err
	}
	folder := fold[:max(strings.LastIndexByte(fold, '/'), 0)]
	if folder == "" || within(s.folder, folder) {
		return true, nil // as for the last name, most often
	}
	for i := 0; i <= len(folder); i++ {
		if i < len(folder) && folder[i] != '/' {
			continue
		}
		if n, err = s.int("SELECT EXISTS (SELECT 1 FROM resource WHERE fold = ?)", folder[:i]); n > 0 || err != nil {
			return false, err
		}
	}
	s.folder = folder
	return true, nil
}

// Totals returns the number of resources of the copy and their bytes.
func (s *State) Totals() (count, bytes int64, err error) {
	err = s.query("SELECT count(*), coalesce(sum(size), 0) FROM resource", func(row *sqlite.Stmt) error {
		count, bytes = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	})
	return count, bytes, err
}
