package state

import (
	"encoding/json"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// stagedSchema has the table of entries that have been read from documents with changes,
// and not yet been compared with the copy: the last one of each resource in each set.
// Temporary tables are neither logged nor synced.
const stagedSchema = `
CREATE TEMP TABLE staged (
	n INTEGER PRIMARY KEY,
	uri TEXT NOT NULL,
	sets TEXT NOT NULL,
	change TEXT NOT NULL,
	datetime INTEGER NOT NULL,
	lastmod INTEGER NOT NULL,
	length INTEGER NOT NULL,
	hashes TEXT NOT NULL,
	type TEXT NOT NULL,
	encoding TEXT NOT NULL,
	links TEXT NOT NULL,
	package INTEGER NOT NULL,
	member TEXT NOT NULL,
	age INTEGER NOT NULL,
	sure INTEGER NOT NULL,
	date INTEGER NOT NULL,
	estimate INTEGER NOT NULL,
	lag INTEGER NOT NULL,
	late INTEGER NOT NULL,
	unsure INTEGER NOT NULL,
	UNIQUE (uri, sets)
);
`

// An Age is how long an entry of a document with changes is known.
type Age int

// The ages of entries. The age is unknown if the document is read for the first time.
// A new one was missing when the document was read before, a known one was there.
const (
	AgeUnknown Age = iota
	AgeNew
	AgeKnown
)

// A Staged change is an entry that has been read, with its age and estimated time.
type Staged struct {
	N int64
	Pending

	Age      Age
	Sure     bool          // its list has only changes after the last comparison of Resource Lists
	Date     time.Time     // of the answer
	Estimate time.Time     // of the change, if it has no datetime
	Lag      time.Duration // between the change and an answer that lacked it, or 0
	Unsure   Doubt         // another entry can be the last one of the resource
	Late     bool          // it is new and before a change that was read earlier, or from a notification

	// Disordered means that only times show which entries of other documents are later; not stored.
	Disordered bool
}

// MayBeFollowed makes a new change without a time a question: a document that could not be read, or of which a cache may
// have sent an old version, can have had a later entry of the resource before.
func (c *Staged) MayBeFollowed() {
	if c.Age == AgeNew && c.Change.Datetime.IsZero() {
		c.Unsure = max(c.Unsure, doubtOf(c.Change.Type == resourcesync.Deleted))
	}
}

// ClearStaged forgets all staged changes.
func (s *State) ClearStaged() error { return s.exec("DELETE FROM temp.staged") }

// IsStaged reports whether a change of a resource in a set is staged.
func (s *State) IsStaged(set, uri string) (bool, error) {
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM temp.staged WHERE uri = ? AND sets = ?)", uri, set)
	return n > 0, err
}

// Stage stages an entry, unless a later one of its resource in its set is staged. Of entries without
// datetimes, or with the same, the one that is staged last is the later one, or the one that
// is staged first if the document is backward. If the entry that is staged last is not the later one, or is known and the
// other one is new, both can be the last one: a clock may have been set back.
func (s *State) Stage(c *Staged, backward bool) error {
	before, age, found, doubt := int64(0), AgeUnknown, false, doubtOf(c.Change.Type == resourcesync.Deleted)
	err := s.query("SELECT datetime, age, change = 'deleted' FROM temp.staged WHERE uri = ? AND sets = ?", func(row *sqlite.Stmt) error {
		before, age, found, doubt = row.ColumnInt64(0), Age(row.ColumnInt64(1)), true, max(doubt, doubtOf(row.ColumnBool(2)))
		return nil
	}, c.Change.Resource.URI, c.Set)
	if err != nil {
		return err
	}
	now := nanos(c.Change.Datetime)
	timed := now != 0 && before != 0
	if found && (timed && now < before || backward && !(timed && now > before)) {
		return s.exec("UPDATE temp.staged SET n = (SELECT max(n) + 1 FROM temp.staged), unsure = max(unsure, ?1), age = iif(?2 = ?3 OR age = ?4, ?2, age) WHERE uri = ?5 AND sets = ?6",
			doubt, int64(c.Age), int64(AgeNew), int64(AgeKnown), c.Change.Resource.URI, c.Set)
	}
	if c.Disordered && found && !(timed && now > before) {
		c.Unsure = max(c.Unsure, doubt)
	}
	if age == AgeNew && c.Age == AgeKnown { // what is known was noted before the new one was listed
		c.Unsure, c.Age = max(c.Unsure, doubt), AgeNew
	}
	r := &c.Change.Resource
	links, err := encodeLinks(r.Links)
	if err != nil {
		return err
	}
	return s.exec(`INSERT OR REPLACE INTO temp.staged (uri, change, datetime, lastmod, length, hashes, type, encoding, links, package, member, age, sure, date, estimate, lag, late, sets, unsure)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.URI, string(c.Change.Type), now, nanos(r.LastModified), length(r.Length), hashes(r.Hashes), r.Type, r.Encoding, links, c.Package, c.Member,
		int64(c.Age), c.Sure, nanos(c.Date), nanos(c.Estimate), int64(c.Lag), c.Late, c.Set, int64(c.Unsure))
}

const stagedColumns = "n, uri, change, datetime, lastmod, length, hashes, type, encoding, links, package, member, age, sure, date, estimate, lag, late, sets, unsure"

// StagedAfter returns up to limit staged changes after a position, in the order in which they
// were staged.
func (s *State) StagedAfter(n int64, limit int) ([]Staged, error) {
	return s.staged("WHERE n > ? ORDER BY n LIMIT +?", n, limit)
}

// StagedOf returns the staged changes of a resource: at most one of each set.
func (s *State) StagedOf(uri string) ([]Staged, error) {
	return s.staged("WHERE uri = ? ORDER BY n", uri)
}

func (s *State) staged(which string, args ...any) (out []Staged, err error) {
	err = s.query("SELECT "+stagedColumns+" FROM temp.staged "+which, func(row *sqlite.Stmt) error {
		c := Staged{
			N: row.ColumnInt64(0), Age: Age(row.ColumnInt64(12)), Sure: row.ColumnBool(13), Date: fromNanos(row.ColumnInt64(14)),
			Estimate: fromNanos(row.ColumnInt64(15)), Lag: time.Duration(row.ColumnInt64(16)), Late: row.ColumnBool(17),
		}
		c.Set, c.Unsure = row.ColumnText(18), Doubt(row.ColumnInt64(19))
		c.Package, c.Member = row.ColumnInt64(10), row.ColumnText(11)
		c.Change = resourcesync.Change{
			Type: resourcesync.ChangeType(row.ColumnText(2)), Datetime: fromNanos(row.ColumnInt64(3)),
			Resource: resourcesync.Resource{
				URI: row.ColumnText(1), LastModified: fromNanos(row.ColumnInt64(4)), Length: toLength(row.ColumnInt64(5)),
				Type: row.ColumnText(7), Encoding: row.ColumnText(8),
			},
		}
		c.Change.Resource.Hashes, _ = resourcesync.AppendHashes(nil, row.ColumnText(6))
		var err error
		c.Change.Resource.Links, err = decodeLinks(row.ColumnText(9))
		out = append(out, c)
		return err
	}, args...)
	return out, err
}

// encodeLinks returns links as text, "" if there are none.
func encodeLinks(links []resourcesync.Link) (string, error) {
	if len(links) == 0 {
		return "", nil
	}
	b, err := json.Marshal(stored(links))
	return string(b), err
}

func decodeLinks(text string) ([]resourcesync.Link, error) {
	if text == "" {
		return nil, nil
	}
	var l []link
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, err
	}
	return fromStored(l), nil
}
