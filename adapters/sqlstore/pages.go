package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Cuts implements [resourcesync.Cutter]. The store keeps the cuts of each every for all
// processes and across restarts, and uses previous only if it has none. The first call
// of a process reads the sums of all blocks, and some hundreds of rows for each cut.
// Later calls do so only for pages that have changed, unless a large part of the set has.
//
// If the store is read-only, the cuts are valid, but another process may have different
// ones. The same holds while another connection writes to a store in SQLite: then Cuts
// returns them together with an error that the Source expects, because no request waits for
// a writer.
func (s *Set) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if every < 1 {
		return nil, fmt.Errorf("sqlstore: invalid page size of %d resources", every)
	}
	for {
		found, kept, err := s.cut(ctx, previous, every)
		if err != nil {
			return nil, s.fail("cuts", err)
		}
		cuts, keys := found.cuts, codec.AppendCuts([]byte{}, found.cuts) // not nil, which would be NULL
		if bytes.Equal(kept, keys) {
			found.stored = kept
			s.divisions.put(every, found)
			return cuts, nil
		}
		switch free, stored, err := s.keepCuts(ctx, every, kept, keys, nil, 0); {
		case ctx.Err() != nil:
			return nil, s.fail("cuts", ctx.Err())
		case err != nil:
			s.store.log.LogAttrs(ctx, slog.LevelWarn, "cuts cannot be stored",
				slog.String("set", s.name), slog.Any("error", err))
			return cuts, nil
		case !free:
			return cuts, paging.ErrProvisional
		case stored:
			found.stored = keys
			s.divisions.put(every, found)
			return cuts, nil
		}
		// Another process has divided the set meanwhile: start from its cuts.
	}
}

// cut divides the current state of the set. kept are the stored cuts that it started
// from, encoded, or nil.
func (s *Set) cut(ctx context.Context, previous []resourcesync.Cut, every int) (found division, kept []byte, err error) {
	err = s.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		set, err := s.readReady(ctx, c)
		if err != nil {
			return err
		}
		err = c.Query(ctx, "SELECT cuts FROM rs_division WHERE set_id = $1 AND every = $2",
			func(row rowdb.Row) error { kept = row.Append([]byte{}, 0); return nil }, s.id, every)
		if err != nil {
			return err
		}
		if kept != nil {
			// Damaged cuts are replaced.
			if decoded, err := codec.DecodeCuts(string(kept)); err == nil {
				previous = decoded
			}
		}
		d := &divider{conn: c, set: &set, cuts: paging.NewCuts(previous, every)}
		old := s.divisions.get(every)
		continued := false
		if bytes.Equal(old.stored, kept) {
			if continued, err = d.continueDivision(ctx, &old); err != nil {
				return err
			}
		}
		if !continued {
			d.cuts = paging.NewCuts(previous, every)
			if _, err := d.divide(ctx, resourcesync.Range{}); err != nil {
				return err
			}
		}
		found = division{last: set.last, forgotten: set.forgotten, cuts: d.cuts.Done(), sizes: d.cuts.Sizes()}
		for i := range found.cuts {
			if found.cuts[i].Newest.IsZero() {
				found.cuts[i].Newest = moment(set.begin)
			}
		}
		return nil
	})
	return found, kept, err
}

// A divider passes a set to paging.Cuts, in whole blocks where possible.
type divider struct {
	conn rowdb.Conn
	set  *setRow
	cuts *paging.Cuts
}

// divide adds the resources in r, and returns their number.
func (d *divider) divide(ctx context.Context, r resourcesync.Range) (count int64, err error) {
	behindRun := false
	rows := func(from, to []byte) error { // that are not a whole block
		if bytes.Equal(from, to) {
			return nil
		}
		if behindRun {
			if err := d.after(ctx, from); err != nil {
				return err
			}
			behindRun = false
		}
		n, err := d.addRows(ctx, from, to)
		count += n
		return err
	}
	lo, end := []byte(r.From), endOf(r)
	for lo != nil {
		blocks, next, err := d.blocks(ctx, lo, end)
		if err != nil {
			return 0, err
		}
		to := end
		if len(blocks) > 0 {
			to = blocks[0].lo
		}
		if err := rows(lo, to); err != nil { // at the end of a block that begins before r
			return 0, err
		}
		for i := range blocks {
			b := &blocks[i]
			if bytes.Equal(b.lo, end) {
				break // it is after r, and shows that the one before is in r as a whole
			}
			to, whole := end, r.To == ""
			switch {
			case i+1 < len(blocks):
				to, whole = blocks[i+1].lo, true
			case next != nil:
				to, whole = next, true
			}
			in := resourcesync.Range{From: string(b.lo), To: string(to)}
			if whole && d.cuts.AddRun(in, int(b.count), int(b.bytes), moment(max(b.newest, d.set.begin))) {
				behindRun = true
				count += b.count
			} else if err := rows(b.lo, to); err != nil {
				return 0, err
			}
		}
		lo = next
	}
	return count, nil
}

// blocks returns a batch of the blocks that begin at lo or later, and not after end, and
// the beginning of the next one, or nil if there is none.
func (d *divider) blocks(ctx context.Context, lo, end []byte) (blocks []block, next []byte, err error) {
	read := func(row rowdb.Row) (b block) { b.read(row); return b }
	blocks, err = rowdb.All(ctx, d.conn, read, "SELECT "+blockColumns+" FROM rs_block WHERE set_id = $1 AND lo >= $2 AND lo <= $3 ORDER BY lo LIMIT $4", d.set.id, lo, end, batch+1)
	if len(blocks) > batch {
		blocks, next = blocks[:batch], blocks[batch].lo
	}
	return blocks, next, err
}

// after passes the last key before key to d.cuts.
func (d *divider) after(ctx context.Context, key []byte) error {
	return d.conn.Query(ctx, "SELECT key FROM rs_resource WHERE set_id = $1 AND key < $2 ORDER BY key DESC LIMIT 1",
		func(row rowdb.Row) error { d.cuts.After(rowdb.String(row, 0)); return nil }, d.set.id, key)
}

// addRows adds the rows from the key from to the key to, and returns the number of
// resources.
func (d *divider) addRows(ctx context.Context, from, to []byte) (count int64, err error) {
	var key []byte
	each := func(row rowdb.Row) error {
		key = row.Append(key[:0], 0)
		newest := moment(max(row.Int(1), d.set.begin))
		if row.Null(3) {
			d.cuts.AddDeleted(string(key), newest)
		} else {
			d.cuts.Add(string(key), int(row.Int(2)), newest)
			count++
		}
		return nil
	}
	return count, d.conn.Query(ctx, sizesOf, each, d.set.id, from, to)
}

// sizesOf reads the rows of a range without their bodies.
const sizesOf = "SELECT key, newest, size, CASE WHEN body IS NOT NULL THEN 1 END FROM rs_resource WHERE set_id = $1 AND key >= $2 AND key < $3 ORDER BY key"

// Stat implements [resourcesync.Stater]. For the whole set it reads one row. For a range
// of any length it reads the sums of the blocks in it and some hundreds of rows at its
// ends. Version moves exactly when something in the range changes, with one exception:
// the Version of a part of the set may also move when the journal drops deletions next
// to it.
//
// LastModified includes deletions. It is never earlier than the creation of the set or
// the end of its first scan, and does not go back while the range has resources.
func (s *Set) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if r == (resourcesync.Range{}) {
		set, err := s.readReady(ctx, s.store.db)
		return changes.Stat(set.last, set.count), s.fail("stat", err)
	}
	if err := s.checkReady(ctx, s.store.db); err != nil {
		return resourcesync.Stat{}, s.fail("stat", err)
	}
	read := func(row rowdb.Row) resourcesync.Stat { return changes.Stat(max(row.Int(0), row.Int(2)), row.Int(1)) }
	st, err := rowdb.One(ctx, s.store.db, read, sums, s.id, []byte(r.From), endOf(r))
	if err == nil {
		s.saw(st.LastModified.UnixMicro())
	}
	return st, s.fail("stat", err)
}

// Stat implements [resourcesync.Stater] for the whole journal, and its Count is unknown. It
// ignores the range: a journal forgets old changes, so it cannot date a range of keys, and an
// index of its keys would cost every change. So after a change anywhere in the table, each
// page is read again when it is next requested.
func (j *Journal) Stat(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
	set, err := j.readReady(ctx, j.store.db)
	st := changes.Stat(set.last, 0)
	st.Count = -1
	return st, j.fail("stat", err)
}

// StatParts implements [resourcesync.PartStater]. The parts are the blocks of the set.
func (s *Set) StatParts(ctx context.Context, r resourcesync.Range) (parts []resourcesync.Part, err error) {
	read := func(row rowdb.Row) resourcesync.Part {
		return resourcesync.Part{From: rowdb.String(row, 0), Version: changes.Stat(row.Int(1), row.Int(2)).Version}
	}
	// In a transaction, PostgreSQL does not sort.
	err = s.snapshot(ctx, func(c rowdb.Conn) error {
		if err := s.checkReady(ctx, c); err != nil {
			return err
		}
		parts, err = rowdb.All(ctx, c, read, partsOf, s.id, []byte(r.From), endOf(r))
		return err
	})
	if len(parts) > 0 {
		parts[0].From = r.From // the block may begin before it
	}
	return parts, s.fail("stat", err)
}

// partsOf reads the blocks that have keys of a range. The first block of a set begins before
// all keys.
const partsOf = `SELECT lo, newest, count FROM rs_block
	WHERE set_id = $1 AND lo >= (SELECT lo FROM rs_block WHERE set_id = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1) AND lo < $3
	ORDER BY lo`

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
