package state

import (
	"time"

	"zombiezen.com/go/sqlite"
)

// Unchanged records that the resources of a page of a set are still listed, because the page is not
// modified. The copy can have others of the page that it no longer lists. Those whose entries cannot
// show a change are noted. It returns the number of resources, of those that are noted, and of
// these that have no validators either.
func (s *State) Unchanged(set, list string, baseline int64) (n, noted, unverifiable int64, err error) {
	seen, err := s.int("SELECT seen FROM document WHERE uri = ? AND sets = ?", list, set)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE resource SET seen = ? WHERE list = ? AND sets = ? AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	n = int64(s.conn.Changes())
	if err := s.exec("UPDATE also SET seen = ? WHERE list = ? AND sets = ? AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE pending SET seen = ? WHERE list = ? AND sets = ? AND seen > 0 AND seen >= ?", baseline, list, set, seen); err != nil {
		return 0, 0, 0, err
	}
	if err := s.exec("UPDATE document SET seen = ? WHERE uri = ? AND sets = ?", baseline, list, set); err != nil {
		return 0, 0, 0, err
	}
	err = s.query(`INSERT OR IGNORE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links)
		SELECT uri, sets, list, seen, '', 0, lastmod, length, '', '', '', '' FROM resource WHERE list = ?1 AND sets = ?2 AND seen = ?3 AND vague = 1
		RETURNING (SELECT etag = '' AND modified = '' FROM resource r WHERE r.uri = pending.uri)`, func(row *sqlite.Stmt) error {
		noted++
		unverifiable += row.ColumnInt64(0)
		return nil
	}, list, set, baseline)
	return n, noted, unverifiable, err
}

// unseen is the condition of a resource that a baseline, complete up to a time, has not seen.
// Resources that changed after that time are not listed yet, unless their time is in the future, and
// so is wrong.
const unseen = "seen < ? AND (? = 0 OR datetime <= ? OR datetime > ?)"

func unseenArgs(baseline int64, at time.Time) []any {
	return []any{baseline, nanos(at), nanos(at), nanos(time.Now())}
}

// Missing returns the number of resources of a set, and of those that a baseline, complete up
// to at, has not seen. If at is zero, it is not known.
func (s *State) Missing(set string, baseline int64, at time.Time) (count, missing int64, err error) {
	err = s.query("SELECT count(*), coalesce(sum("+unseen+"), 0) FROM resource WHERE sets = ?", func(row *sqlite.Stmt) error {
		count, missing = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	}, append(unseenArgs(baseline, at), set)...)
	return count, missing, err
}

// OldestAnswer returns the time of the oldest answer to the last request for a resource of a set, or zero.
func (s *State) OldestAnswer(set string) (time.Time, error) {
	n, err := s.int("SELECT coalesce(min(asked), 0) FROM resource WHERE sets = ?", set)
	return fromNanos(n), err
}

// askedSince is the condition of a resource that was requested at a time or later. The clock of a server
// that states a time in the future is wrong.
const askedSince = "asked >= ? AND asked <= ?"

func askedSinceArgs(t time.Time) []any {
	return []any{nanos(t), nanos(time.Now().Add(time.Minute))}
}

// MissingSince returns the number of resources of a set that a baseline has not seen and that were
// requested at a time or later.
func (s *State) MissingSince(set string, baseline int64, t time.Time) (int64, error) {
	return s.int("SELECT count(*) FROM resource WHERE sets = ? AND seen < ? AND "+askedSince, append([]any{set, baseline}, askedSinceArgs(t)...)...)
}

// AskMissing notes questions about the resources that MissingSince counts.
func (s *State) AskMissing(set string, baseline int64, t time.Time) error {
	args := append([]any{DoubtDeletion, set, baseline}, askedSinceArgs(t)...)
	err := s.exec(`UPDATE pending SET doubt = ?, package = 0, attempts = 0 WHERE change != 'deleted'
		AND uri IN (SELECT uri FROM resource WHERE sets = ? AND seen < ? AND `+askedSince+`)`, args...)
	if err != nil {
		return err
	}
	return s.exec(`INSERT OR IGNORE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links, doubt)
		SELECT uri, sets, list, seen, 'updated', 0, lastmod, ?, '', '', '', '', ? FROM resource WHERE sets = ? AND seen < ? AND `+askedSince,
		append([]any{int64(unknownLength)}, args...)...)
}

// NoteMissing notes the deletion of the resources that Missing counts, without those that MissingSince
// counts if since is not zero.
func (s *State) NoteMissing(set string, baseline int64, at, since time.Time) error {
	args := append([]any{int64(unknownLength), set}, unseenArgs(baseline, at)...)
	args = append(append(args, nanos(since)), askedSinceArgs(since)...)
	return s.exec(`INSERT OR REPLACE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links)
		SELECT uri, sets, '', 0, 'deleted', 0, 0, ?, '', '', '', '' FROM resource WHERE sets = ? AND `+unseen+" AND NOT (? > 0 AND "+askedSince+")", args...)
}

// AskUnlisted notes questions about the resources of a set that a baseline, complete up to at, has not seen, and that
// changed after at and not after until, which is zero if it is not known: the changes that can be read begin then. Noted
// changes of such resources become questions as well. If at is zero, the baseline has noted the resources as deleted.
func (s *State) AskUnlisted(set string, baseline int64, at, until time.Time) (noted int64, err error) {
	err = s.exec(`UPDATE pending SET doubt = ?1, package = 0, attempts = 0
		WHERE sets = ?2 AND seen < ?3 AND change != 'deleted' AND doubt != ?1 AND datetime > ?4 AND (?5 = 0 OR datetime <= ?5)`,
		DoubtDeletion, set, baseline, nanos(at), nanos(until))
	if err != nil || at.IsZero() {
		return 0, err
	}
	err = s.exec(`INSERT OR IGNORE INTO pending (uri, sets, list, seen, change, datetime, lastmod, length, hashes, type, encoding, links, doubt)
		SELECT uri, sets, list, seen, 'updated', 0, lastmod, ?1, '', '', '', '', ?2 FROM resource
		WHERE sets = ?3 AND seen < ?4 AND datetime > ?5 AND (?6 = 0 OR datetime <= ?6)`,
		int64(unknownLength), DoubtDeletion, set, baseline, nanos(at), nanos(until))
	return int64(s.conn.Changes()), err
}

// AskSuperseded makes the resources of a set questions that a baseline has seen and the last one has not.
func (s *State) AskSuperseded(set string, first, last int64) error {
	for _, table := range tables {
		for after := ""; ; {
			var uris []string
			err := s.query("SELECT uri FROM "+table+" WHERE sets = ? AND seen >= ? AND seen < ? AND uri > ? ORDER BY uri LIMIT +?", func(row *sqlite.Stmt) error {
				uris = append(uris, row.ColumnText(0))
				return nil
			}, set, first, last, after, auditBatch)
			if err != nil {
				return err
			}
			if len(uris) == 0 {
				break
			}
			for _, uri := range uris {
				if err := s.question(uri); err != nil {
					return err
				}
			}
			after = uris[len(uris)-1]
		}
	}
	return nil
}

// forgotten is the condition of a noted resource that a baseline, complete up to a time, no longer lists.
// Those that have been asked once are asked again.
const forgotten = "seen < ? AND change != 'deleted' AND gone = 0 AND (seen > 0 OR datetime <= ? OR datetime > ?)"

func forgottenArgs(baseline int64, at time.Time) []any {
	return []any{baseline, nanos(at), nanos(time.Now())}
}

// Forget drops the noted resources of a set that a baseline, complete up to at, no longer lists. One that changed before
// at, and has answered since that it is gone, is asked again: the baseline and one more such answer settle that.
func (s *State) Forget(set string, baseline int64, at time.Time) error {
	if err := s.exec("DELETE FROM pending WHERE sets = ? AND "+forgotten, append([]any{set}, forgottenArgs(baseline, at)...)...); err != nil {
		return err
	}
	return s.exec(`UPDATE pending SET doubt = ?1, attempts = 0
		WHERE sets = ?2 AND seen < ?3 AND change != 'deleted' AND doubt != ?1 AND datetime > 0 AND datetime <= ?4 AND gone > 0 AND `+unsettled,
		DoubtDeletion, set, baseline, nanos(at))
}
