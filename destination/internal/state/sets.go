package state

import (
	"encoding/json"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// A Set is the progress of reading a set.
type Set struct {
	URI string

	// Cursor is the time up to which changes have been noted. It is valid if Known.
	Cursor time.Time
	Known  bool

	// Partial means that some lists could not be read. It is not stored: the next run does not
	// know the set.
	Partial bool

	// Began is the beginning of the changes that were read last, zero if others can have the same one. It is
	// not stored.
	Began time.Time

	// Unread is set if no document with changes was read since the Resource Lists were: an earlier
	// run ended in between. It is not stored.
	Unread bool

	Baseline int64 // the number of the last baseline that has begun

	// Base is the time of the Resource Lists of the last baseline, zero if they have none. Lag
	// is the largest delay with which a change was listed, negative if it is not known.
	Base time.Time
	Lag  time.Duration

	Guard guard.State
}

// Set returns the state of a set.
func (s *State) Set(uri string) (Set, error) {
	set := Set{URI: uri, Lag: -1}
	err := s.query("SELECT cursor, baseline, complete, guard, base, lag FROM sets WHERE uri = ?", func(row *sqlite.Stmt) error {
		set.Cursor, set.Baseline, set.Known = fromNanos(row.ColumnInt64(0)), row.ColumnInt64(1), row.ColumnBool(2)
		set.Base, set.Lag = fromNanos(row.ColumnInt64(4)), time.Duration(row.ColumnInt64(5))
		return json.Unmarshal([]byte(row.ColumnText(3)), &set.Guard)
	}, uri)
	return set, err
}

// SaveSet stores the state of a set.
func (s *State) SaveSet(set Set) error {
	state, err := json.Marshal(set.Guard)
	if err != nil {
		return err
	}
	return s.exec(`INSERT INTO sets (uri, cursor, baseline, complete, guard, base, lag) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT DO UPDATE SET cursor = ?2, baseline = ?3, complete = ?4, guard = ?5, base = ?6, lag = ?7`,
		set.URI, nanos(set.Cursor), set.Baseline, set.Known && !set.Partial, string(state), nanos(set.Base), int64(set.Lag))
}

// Until returns the latest cursor of a set.
func (s *State) Until() (time.Time, error) {
	n, err := s.int("SELECT coalesce(max(cursor), 0) FROM sets")
	return fromNanos(n), err
}

// A Document is a document that has been read completely.
type Document struct {
	fetch.Validators
	At time.Time // as of when it is complete, if it is a Resource List that says so
}

// Document returns the record of a document that has been read for a set.
func (s *State) Document(set, uri string) (d Document, err error) {
	err = s.query("SELECT etag, modified, at FROM document WHERE uri = ? AND sets = ?", func(row *sqlite.Stmt) error {
		d = Document{fetch.Validators{ETag: row.ColumnText(0), LastModified: row.ColumnText(1)}, fromNanos(row.ColumnInt64(2))}
		return nil
	}, uri, set)
	return d, err
}

// SaveDocument records that a document has been read for a set, by a baseline unless that is 0.
func (s *State) SaveDocument(set, uri string, d Document, baseline int64) error {
	if d.Validators == (fetch.Validators{}) {
		return s.exec("DELETE FROM document WHERE uri = ?", uri)
	}
	return s.exec("INSERT OR REPLACE INTO document (uri, sets, etag, modified, at, seen) VALUES (?, ?, ?, ?, ?, ?)", uri, set, d.ETag, d.LastModified, nanos(d.At), baseline)
}

// ForgetDocument makes the next comparison read a document of a set, even if it is not modified.
func (s *State) ForgetDocument(set, uri string) error {
	return s.exec("DELETE FROM document WHERE uri = ? AND sets = ?", uri, set)
}

// Next returns the document that continues one that has been read, or "".
func (s *State) Next(uri string) (next string, err error) {
	err = s.query("SELECT next FROM page WHERE uri = ?", func(row *sqlite.Stmt) error {
		next = row.ColumnText(0)
		return nil
	}, uri)
	return next, err
}

// SaveNext records which document continues another one.
func (s *State) SaveNext(uri, next string) error {
	if next == "" {
		return s.exec("DELETE FROM page WHERE uri = ?", uri)
	}
	return s.exec("INSERT OR REPLACE INTO page (uri, next) VALUES (?, ?)", uri, next)
}

// ForgetDocuments forgets the documents of a set that a complete baseline has not read: if they come back, their
// resources may have been deleted.
func (s *State) ForgetDocuments(set string, baseline int64) error {
	return s.exec("DELETE FROM document WHERE sets = ? AND seen < ?", set, baseline)
}

// OnlyList returns the list that the copy is restricted to, or "", and whether nothing has been read
// for the copy.
func (s *State) OnlyList() (list string, isNew bool, err error) {
	err = s.query("SELECT list, NOT EXISTS (SELECT 1 FROM sets) AND NOT EXISTS (SELECT 1 FROM resource) FROM mirror", func(row *sqlite.Stmt) error {
		list, isNew = row.ColumnText(0), row.ColumnBool(1)
		return nil
	})
	return list, isNew, err
}

// SaveOnlyList restricts the copy to a list.
func (s *State) SaveOnlyList(list string) error { return s.exec("UPDATE mirror SET list = ?", list) }
