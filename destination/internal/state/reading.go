package state

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A Reading is the last complete reading of a document with changes, for a set. It has the
// digests of the entries, so that the next reading knows which ones are new.
type Reading struct {
	Set, URI   string
	Date       time.Time // of the newest answer that had no other entries
	Newest     time.Time // of from and the times of entries that are not in the future
	Validators fetch.Validators
	Whole      bool // it has the digests of all entries
	Closed     bool // the document has an until, itself or in its index: no entries follow

	prints []uint64
	found  int
	used   []uint32 // by Has: the number of equal digests from here on
}

// maxPrints is the maximum number of digests of a document. Of the entries of a longer one, it
// is not known whether they are new.
const maxPrints = 1 << 20

// Reading returns the last reading of a document for a set, or nil.
func (s *State) Reading(set, uri string) (r *Reading, err error) {
	err = s.query("SELECT date, etag, modified, whole, newest, prints FROM reading WHERE sets = ? AND uri = ?", func(row *sqlite.Stmt) error {
		r = &Reading{
			Set: set, URI: uri, Date: fromNanos(row.ColumnInt64(0)),
			Validators: fetch.Validators{ETag: row.ColumnText(1), LastModified: row.ColumnText(2)}, Whole: row.ColumnBool(3),
			Newest: fromNanos(row.ColumnInt64(4)), prints: appendPrints(nil, row, 5),
		}
		slices.Sort(r.prints)
		r.used = make([]uint32, len(r.prints))
		return nil
	}, set, uri)
	return r, err
}

// appendPrints appends the digests in a column.
func appendPrints(prints []uint64, row *sqlite.Stmt, column int) []uint64 {
	b := make([]byte, row.ColumnLen(column))
	row.ColumnBytes(column, b)
	for ; len(b) >= 8; b = b[8:] {
		prints = append(prints, binary.LittleEndian.Uint64(b))
	}
	return prints
}

// Listed returns a reading with the digests of the entries of all documents of a set. It is not Whole, and has none, if they
// are too many, or if one of the documents was too long.
func (s *State) Listed(set string) (*Reading, error) {
	n, err := s.int("SELECT coalesce(sum(length(prints)) + sum(whole = 0) * ?, 0) FROM reading WHERE sets = ?", 8*maxPrints, set)
	r := &Reading{Set: set, Whole: n < 8*maxPrints}
	if err != nil || !r.Whole {
		return r, err
	}
	err = s.query("SELECT prints FROM reading WHERE sets = ?", func(row *sqlite.Stmt) error {
		r.prints = appendPrints(r.prints, row, 0)
		return nil
	}, set)
	slices.Sort(r.prints)
	r.used = make([]uint32, len(r.prints))
	return r, err
}

// Add adds the digest of an entry.
func (r *Reading) Add(print uint64) {
	if len(r.prints) < maxPrints {
		r.prints = append(r.prints, print)
		return
	}
	r.Whole = false
}

// Len returns the number of digests.
func (r *Reading) Len() int { return len(r.prints) }

// Has reports whether the document had an entry. If it had one of two equal entries, only the
// first call returns true.
func (r *Reading) Has(print uint64) bool {
	first, found := slices.BinarySearch(r.prints, print)
	if !found {
		return false
	}
	if i := first + int(r.used[first]); i == len(r.prints) || r.prints[i] != print {
		return false
	}
	r.used[first]++
	r.found++
	return true
}

// Keep adds the digests of another reading for which its Has was not called.
func (r *Reading) Keep(other *Reading) {
	for i := 0; i < len(other.prints); {
		print, end := other.prints[i], i+1
		for end < len(other.prints) && other.prints[end] == print {
			end++
		}
		for range end - i - int(other.used[i]) {
			r.Add(print)
		}
		i = end
	}
}

// Shares reports whether Has has found an entry.
func (r *Reading) Shares() bool { return r.found > 0 }

// Lost reports whether the document had entries for which Has was not called.
func (r *Reading) Lost() bool { return r.found < len(r.prints) }

// Print returns the digest of a change.
func Print(c *resourcesync.Change) uint64 {
	b := make([]byte, 0, 512)
	b = append(b, c.Resource.URI...)
	b = append(b, 0)
	b = append(b, c.Type...)
	b = append(b, 0)
	for _, h := range c.Resource.Hashes {
		b = append(b, h.Algorithm...)
		b = append(b, ':')
		b = append(b, h.Digest...)
		b = append(b, 0)
	}
	for _, n := range []int64{nanos(c.Datetime), nanos(c.Resource.LastModified), length(c.Resource.Length)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// SaveReading stores a reading that has ended.
func (s *State) SaveReading(r *Reading) error {
	b := make([]byte, 0, 8*len(r.prints))
	for _, print := range r.prints {
		b = binary.LittleEndian.AppendUint64(b, print)
	}
	return s.exec(`INSERT OR REPLACE INTO reading (sets, uri, date, etag, modified, whole, closed, newest, prints) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Set, r.URI, nanos(r.Date), r.Validators.ETag, r.Validators.LastModified, r.Whole, r.Closed, nanos(r.Newest), b)
}

// Reread records the time of an answer that a document is not modified, and whether it is closed now.
func (s *State) Reread(set, uri string, date time.Time, closed bool) error {
	return s.exec("UPDATE reading SET date = max(date, ?), closed = max(closed, ?) WHERE sets = ? AND uri = ?", nanos(date), closed, set, uri)
}

// Open returns the documents of a set that were not closed when they were read.
func (s *State) Open(set string) (open map[string]bool, err error) {
	open = make(map[string]bool)
	err = s.query("SELECT uri FROM reading WHERE sets = ? AND closed = 0", func(row *sqlite.Stmt) error {
		open[row.ColumnText(0)] = true
		return nil
	}, set)
	return open, err
}

// ForgetReadings forgets the readings of the documents of a set that ended before a time, except
// those in keep.
func (s *State) ForgetReadings(set string, before time.Time, keep map[string]bool) error {
	var gone []int64
	err := s.query("SELECT id, uri FROM reading WHERE sets = ? AND date < ?", func(row *sqlite.Stmt) error {
		if !keep[row.ColumnText(1)] {
			gone = append(gone, row.ColumnInt64(0))
		}
		return nil
	}, set, nanos(before))
	for _, id := range gone {
		if err == nil {
			err = s.exec("DELETE FROM reading WHERE id = ?", id)
		}
	}
	return err
}

// HasReadings reports whether a document of a set has a reading.
func (s *State) HasReadings(set string) (bool, error) {
	n, err := s.int("SELECT EXISTS (SELECT 1 FROM reading WHERE sets = ?)", set)
	return n > 0, err
}

// ForgetAllReadings forgets the readings of all documents of a set.
func (s *State) ForgetAllReadings(set string) error {
	return s.exec("DELETE FROM reading WHERE sets = ?", set)
}
