package state

import (
	"encoding/json"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// A GoneSet is a set that the Source does not name now.
type GoneSet struct {
	URI    string
	Named  string    // the document that has led to it, or ""
	Missed time.Time // when that document was first read and did not name it, or zero
}

// Found records that a document leads to a set. Of one that comes back, all documents are read
// again: other sets may have taken over its resources, and deleted them.
func (s *State) Found(uri, named string) error {
	var known string
	missed, ok := int64(0), false
	err := s.query("SELECT named, missed FROM sets WHERE uri = ?", func(row *sqlite.Stmt) error {
		known, missed, ok = row.ColumnText(0), row.ColumnInt64(1), true
		return nil
	}, uri)
	switch {
	case err != nil || known == named && missed == 0 && ok:
		return err
	case !ok:
		return s.exec("INSERT INTO sets (uri, named) VALUES (?, ?)", uri, named)
	case missed == 0:
		return s.exec("UPDATE sets SET named = ? WHERE uri = ?", named, uri)
	}
	if err := s.exec("UPDATE sets SET named = ?, missed = 0, complete = 0 WHERE uri = ?", named, uri); err != nil {
		return err
	}
	return s.exec("DELETE FROM document")
}

// GoneSets returns the sets that the Source does not name now; see [State.SetsAre].
func (s *State) GoneSets() (gone []GoneSet, err error) {
	now := make(map[string]bool, len(s.sets))
	for _, uri := range s.sets {
		now[uri] = true
	}
	err = s.query("SELECT uri, named, missed FROM sets ORDER BY uri", func(row *sqlite.Stmt) error {
		if uri := row.ColumnText(0); !now[uri] {
			gone = append(gone, GoneSet{uri, row.ColumnText(1), fromNanos(row.ColumnInt64(2))})
		}
		return nil
	})
	return gone, err
}

// Missed records that the document which names a set has been read and does not name it.
func (s *State) Missed(uri string, at time.Time) error {
	return s.exec("UPDATE sets SET missed = ? WHERE uri = ?", nanos(at), uri)
}

// Only returns the number of resources that belong to a set, in the copy or noted to be copied, and
// that no other set that the Source names now has.
func (s *State) Only(set string) (int64, error) {
	named, err := json.Marshal(s.sets)
	if err != nil {
		return 0, err
	}
	return s.int(`SELECT count(*) FROM (SELECT uri FROM resource WHERE sets = ?1 UNION SELECT uri FROM pending WHERE sets = ?1 AND change != 'deleted')
		WHERE uri NOT IN (SELECT uri FROM also WHERE sets != ?1 AND sets IN (SELECT value FROM json_each(?2)))`, set, string(named))
}

// DeleteSet notes the deletion of the resources that Only counts, and forgets the set.
func (s *State) DeleteSet(set string) error {
	err := s.exec("DELETE FROM also WHERE sets = ?", set)
	if err == nil {
		err = s.inheritAll("sets = ?", set)
	}
	if err == nil {
		err = s.shareLess("")
	}
	if err == nil { // a process may have ended between storing and recording a copy
		err = s.exec("UPDATE pending SET change = ?, package = 0, later = 0 WHERE sets = ?", string(resourcesync.Deleted), set)
	}
	if err == nil {
		err = s.exec(`INSERT OR REPLACE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links)
			SELECT uri, sets, '', 0, 'deleted', 0, 0, ?, '', '', '', '' FROM resource WHERE sets = ?`, int64(unknownLength), set)
	}
	if err == nil {
		err = s.exec("DELETE FROM sets WHERE uri = ?", set)
	}
	return err
}
