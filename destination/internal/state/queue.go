package state

import (
	"encoding/json"
	"errors"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync"
)

// LastPending returns the position of the last pending change, or 0.
func (s *State) LastPending() (int64, error) {
	return s.int("SELECT coalesce(max(seq), 0) FROM pending")
}

// Pending returns up to limit pending changes after a position, up to the position last, in
// order, without those that must wait.
func (s *State) Pending(after, last int64, limit int) ([]Pending, error) {
	return s.pending("WHERE seq > ? AND seq <= ? AND "+due+" ORDER BY seq LIMIT +?", after, last, nanos(time.Now()), limit)
}

// PendingDeletions returns up to limit pending deletions after a position, in order.
func (s *State) PendingDeletions(after int64, limit int) ([]Pending, error) {
	return s.pending("WHERE seq > ? AND change = 'deleted' ORDER BY seq LIMIT +?", after, limit)
}

func (s *State) pending(which string, args ...any) ([]Pending, error) {
	var out []Pending
	err := s.query(`SELECT seq, p.uri, p.sets, p.list, p.seen, change, p.datetime, p.lastmod, p.length, p.hashes, type, encoding, links, attempts, package, member, doubt, gone, r.uri IS NOT NULL, `+resourceColumns+`
		FROM pending p LEFT JOIN resource r ON r.uri = p.uri `+which, func(row *sqlite.Stmt) error {
		p := Pending{
			Seq: row.ColumnInt64(0), Set: row.ColumnText(2), List: row.ColumnText(3), Seen: row.ColumnInt64(4), Attempts: row.ColumnInt64(13),
			Package: row.ColumnInt64(14), Member: row.ColumnText(15),
		}
		p.Change = resourcesync.Change{
			Type: resourcesync.ChangeType(row.ColumnText(5)), Datetime: fromNanos(row.ColumnInt64(6)),
			Resource: resourcesync.Resource{
				URI: row.ColumnText(1), LastModified: fromNanos(row.ColumnInt64(7)), Length: toLength(row.ColumnInt64(8)),
				Type: row.ColumnText(10), Encoding: row.ColumnText(11),
			},
		}
		p.Change.Resource.Hashes, _ = resourcesync.AppendHashes(nil, row.ColumnText(9))
		p.Doubt, p.Gone = Doubt(row.ColumnInt64(16)), fromNanos(row.ColumnInt64(17))
		if p.Known = row.ColumnBool(18); p.Known {
			p.Have = readResource(row, 19)
		}
		var err error
		p.Change.Resource.Links, err = decodeLinks(row.ColumnText(12))
		out = append(out, p)
		return err
	}, args...)
	return out, err
}

// Resumable yields the URIs whose downloads can be continued: of pending changes, and of
// the packages with their content.
func (s *State) Resumable() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		stopped := errors.New("stopped")
		err := s.query(`SELECT uri FROM pending WHERE change != 'deleted' UNION ALL
			SELECT uri FROM package WHERE id IN (SELECT package FROM pending WHERE package > 0)`, func(row *sqlite.Stmt) error {
			if !yield(row.ColumnText(0), nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield("", err)
		}
	}
}

// HasPending reports whether a set has a pending change of a URI with a prefix.
func (s *State) HasPending(set, prefix string) (bool, error) {
	n, err := s.int("SELECT count(*) FROM (SELECT 1 FROM pending WHERE uri >= ?1 AND uri < ?1 || char(0x10ffff) AND sets = ?2 LIMIT 1)", prefix, set)
	return n > 0, err
}

// unsettled is the condition of a pending change that is not only asked again, after an answer of
// 404 or 410 that has settled it.
const unsettled = "(gone = 0 OR error != '')"

// PendingCount returns the number of pending changes, without deleted resources that are only asked
// again.
func (s *State) PendingCount() (int64, error) {
	return s.int("SELECT count(*) FROM pending WHERE " + unsettled)
}

// Failed records that a change could not be applied. It stays pending, behind all others, so
// that it never keeps them from being applied. Its content is requested alone from now on. gone is
// the time of the first of the last answers of 404 or 410 to a question, or zero.
func (s *State) Failed(seq int64, failure error, gone time.Time) error {
	return s.exec("UPDATE pending SET attempts = attempts + 1, error = ?, package = 0, later = 0, gone = ?, seq = (SELECT max(seq) + 1 FROM pending) WHERE seq = ?", failure.Error(), nanos(gone), seq)
}

// Reask turns a question into one for any version, because the answer was another version
// than the pending change states.
func (s *State) Reask(seq int64) error {
	return s.exec("UPDATE pending SET lastmod = 0, length = ?, hashes = '' WHERE seq = ?", int64(unknownLength), seq)
}

// Answered records that the resource of a question exists.
func (s *State) Answered(seq int64) error {
	return s.exec("UPDATE pending SET doubt = ? WHERE seq = ?", DoubtNone, seq)
}

// Ask records that a question has deleted a resource, and that runs ask again, not before later.
func (s *State) Ask(seq int64, gone, later time.Time) error {
	return s.exec("UPDATE pending SET attempts = 0, error = '', package = 0, later = ?, gone = ? WHERE seq = ?", nanos(later), nanos(gone), seq)
}

// Done removes pending changes.
func (s *State) Done(seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	text, err := json.Marshal(seqs)
	if err != nil {
		return err
	}
	return s.exec("DELETE FROM pending WHERE seq IN (SELECT value FROM json_each(?))", string(text))
}
