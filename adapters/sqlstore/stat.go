package sqlstore

import (
	"context"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Stat implements [resourcesync.Stater]. For the whole set it reads one row. For a range
// of any length it reads the sums of the blocks in it and some hundreds of rows at its
// ends. Version moves exactly when something in the range changes, with one exception:
// the Version of a part of the set may also move when the journal drops deletions next
// to it.
//
// LastModified includes deletions. It is never earlier than the creation of the set or
// the end of its first scan, and does not go back while the range has resources.
func (s *Set) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	var st resourcesync.Stat
	err := s.store.db.Do(ctx, func(c rowdb.Conn) error {
		if r == (resourcesync.Range{}) {
			set, err := s.readReady(ctx, c)
			st = newStat(set.last, set.count)
			return err
		}
		if err := s.checkReady(ctx, c); err != nil {
			return err
		}
		return c.Query(ctx, sums, func(row rowdb.Row) error {
			st = newStat(max(row.Int(0), row.Int(2)), row.Int(1))
			return nil
		}, s.id, []byte(r.From), endOf(r))
	})
	if err != nil {
		return resourcesync.Stat{}, s.fail("stat", err)
	}
	return st, nil
}

// Stat implements [resourcesync.Stater] for the whole journal. It ignores the range, and
// its Count is unknown.
func (j *Journal) Stat(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
	var st resourcesync.Stat
	err := j.store.db.Do(ctx, func(c rowdb.Conn) error {
		set, err := j.readReady(ctx, c)
		st = newStat(set.last, 0)
		st.Count = -1
		return err
	})
	if err != nil {
		return resourcesync.Stat{}, j.fail("stat", err)
	}
	return st, nil
}

// StatParts implements [resourcesync.PartStater]. The parts are the blocks of the set.
func (s *Set) StatParts(ctx context.Context, r resourcesync.Range) (parts []resourcesync.Part, err error) {
	err = s.store.db.Do(ctx, func(c rowdb.Conn) error {
		if err := s.checkReady(ctx, c); err != nil {
			return err
		}
		return c.Query(ctx, partsOf, func(row rowdb.Row) error {
			var version [48]byte
			part := resourcesync.Part{From: r.From, Version: string(appendVersion(version[:0], row.Int(1), row.Int(2)))}
			if len(parts) > 0 { // the first block may begin before r
				part.From = rowdb.String(row, 0)
			}
			parts = append(parts, part)
			return nil
		}, s.id, []byte(r.From), endOf(r))
	})
	if err != nil {
		return nil, s.fail("stat", err)
	}
	return parts, nil
}

// partsOf reads the blocks that have keys of a range. The first block of a set begins before
// all keys.
const partsOf = `SELECT lo, newest, count FROM rs_block
	WHERE set_id = $1 AND lo >= (SELECT lo FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1) AND lo < $3
	ORDER BY lo`

// newStat returns the Stat of a range. Its newest change and its size identify its
// state: every change is newer than all before it, and the newest change never goes
// back while the range has resources.
func newStat(newest, count int64) resourcesync.Stat {
	return resourcesync.Stat{
		Count:        count,
		LastModified: moment(newest),
		Version:      string(appendVersion(make([]byte, 0, 32), newest, count)),
	}
}

func appendVersion(b []byte, newest, count int64) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(b, newest, 36), '.'), count, 36)
}

// sums adds up a range in one statement, which sees one state: the rows before the first
// block that begins in the range (f), the blocks up to the last one that does (l), and
// the rows from there on.
const sums = `WITH ends (f, l) AS (SELECT
		(SELECT lo FROM rs_block WHERE set_id = $1 AND lo >= $2 AND lo <= $3 ORDER BY lo LIMIT 1),
		(SELECT lo FROM rs_block WHERE set_id = $1 AND lo >= $2 AND lo <= $3 ORDER BY lo DESC LIMIT 1)),
	sums (newest, count) AS (
		SELECT max(newest), count(body) FROM rs_resource
		WHERE set_id = $1 AND key >= $2 AND key < coalesce((SELECT f FROM ends), $3)
	UNION ALL
		SELECT max(newest), CAST(sum(count) AS bigint) FROM rs_block
		WHERE set_id = $1 AND lo >= (SELECT f FROM ends) AND lo < (SELECT l FROM ends)
	UNION ALL
		SELECT max(newest), count(body) FROM rs_resource
		WHERE set_id = $1 AND key >= (SELECT l FROM ends) AND key < $3)
	SELECT CAST(max(newest) AS bigint), CAST(sum(count) AS bigint), (SELECT begin FROM rs_set WHERE id = $1) FROM sums`
