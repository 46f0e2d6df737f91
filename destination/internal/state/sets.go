package state

import (
	"encoding/json"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// A Set is how far a set has been read.
type Set struct {
	URI string

	// Cursor is the time up to which changes have been noted. It is valid if Known.
	Cursor time.Time
	Known  bool

	Baseline int64 // the number of the last baseline that has begun
	Guard    guard.State
}

// Set returns the state of a set.
func (s *State) Set(uri string) (Set, error) {
	set := Set{URI: uri}
	err := s.query("SELECT cursor, baseline, complete, guard FROM sets WHERE uri = ?", func(row *sqlite.Stmt) error {
		set.Cursor, set.Baseline, set.Known = fromNanos(row.ColumnInt64(0)), row.ColumnInt64(1), row.ColumnBool(2)
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
	return s.exec(`INSERT INTO sets (uri, cursor, baseline, complete, guard) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT DO UPDATE SET cursor = ?2, baseline = ?3, complete = ?4, guard = ?5`,
		set.URI, nanos(set.Cursor), set.Baseline, set.Known, string(state))
}

// Document returns the validators of a document that has been read completely.
func (s *State) Document(uri string) (v fetch.Validators, err error) {
	err = s.query("SELECT etag, modified FROM document WHERE uri = ?", func(row *sqlite.Stmt) error {
		v = fetch.Validators{ETag: row.ColumnText(0), LastModified: row.ColumnText(1)}
		return nil
	}, uri)
	return v, err
}

// SaveDocument records that a document has been read completely.
func (s *State) SaveDocument(uri string, v fetch.Validators) error {
	if v == (fetch.Validators{}) {
		return s.exec("DELETE FROM document WHERE uri = ?", uri)
	}
	return s.exec("INSERT OR REPLACE INTO document (uri, etag, modified) VALUES (?, ?, ?)", uri, v.ETag, v.LastModified)
}
