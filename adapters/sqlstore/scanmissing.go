package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A missing describes the resources in the ranges of a scan that it has not seen and that
// have not been changed since it began.
type missing struct {
	count    int64
	fresh    int64    // those whose newest change is not before a time
	first    []string // the keys of the first ones
	replaced bool     // others are in ranges that have been scanned meanwhile
}

// hasSeenAll reports whether a Scan is known to have seen all resources that the set had when
// it began: there were none, or nothing has changed since and it has seen as many.
func (sc *scanRun) hasSeenAll(ctx context.Context) (bool, error) {
	if sc.part || sc.empty {
		return sc.empty, nil
	}
	set, err := readSet(ctx, sc.conn, sc.set.id)
	return set.last == sc.begun && set.count == int64(sc.seen.total), err
}

// findMissing counts the missing resources. Those that have changed since a time are
// fresh.
func (sc *scanRun) findMissing(ctx context.Context, since int64) (m missing, err error) {
	err = sc.eachMissing(ctx, func(keys []string, newest []int64) error {
		for i, key := range keys {
			switch {
			case sc.replaced.Contains(key):
				m.replaced = true
				continue
			case newest[i] >= since:
				m.fresh++
			}
			m.count++
			if len(m.first) < batch {
				m.first = append(m.first, key)
			}
		}
		return nil
	})
	return m, err
}

// comparedAtOnce is the number of rows that are compared with the keys that a scan has
// seen, before the missing ones among them are deleted.
const comparedAtOnce = 10 * batch

// eachMissing calls each with all missing resources, some at a time, and the times of their
// newest changes.
func (sc *scanRun) eachMissing(ctx context.Context, each func(keys []string, newest []int64) error) error {
	query := "SELECT key, newest FROM rs_resource r WHERE set_id = $1 AND key >= $2 AND key < $3 AND newest <= $4 AND body IS NOT NULL"
	if sc.seen.spilled {
		query += " AND NOT EXISTS (SELECT 1 FROM rs_seen s WHERE s.key = r.key)"
	}
	query += " ORDER BY key LIMIT $5"
	type span struct {
		from, to []byte
		rows     int
	}
	var next []span // the remainders of ranges that have begun
	var keys []string
	var newest []int64
	for ranges := sc.ranges; len(ranges)+len(next) > 0; {
		spans := next
		next = nil
		for ; len(ranges) > 0 && len(spans) < batch; ranges = ranges[1:] {
			spans = append(spans, span{from: []byte(ranges[0].From), to: endOf(ranges[0])})
		}
		keys, newest = keys[:0], newest[:0]
		most := 1 + comparedAtOnce/len(spans)
		err := sc.conn.QueryEach(ctx, query, len(spans),
			func(i int) []any { return []any{sc.set.id, spans[i].from, spans[i].to, sc.begun, most} },
			func(i int, row rowdb.Row) error {
				s := &spans[i]
				s.rows++
				if s.rows == 1 {
					s.from = nil // still in use as an argument
				}
				s.from = row.Append(s.from[:0], 0)
				if !sc.seen.has(sc.seen.hash(s.from)) {
					keys, newest = append(keys, string(s.from)), append(newest, row.Int(1))
				}
				return nil
			})
		if err == nil && len(keys) > 0 {
			err = each(keys, newest)
		}
		if err != nil {
			return err
		}
		for _, s := range spans {
			if s.rows == most {
				next = append(next, span{from: append(s.from, 0), to: s.to})
			}
		}
	}
	return nil
}

// sweep deletes the missing resources.
func (sc *scanRun) sweep(ctx context.Context, m missing) error {
	gone := func(keys []string) error {
		for part := range slices.Chunk(keys, batch) {
			edits := make([]changes.Edit, len(part))
			for i, key := range part {
				edits[i] = changes.Edit{Type: resourcesync.Deleted, Key: key}
			}
			if err := sc.change(ctx, edits, nil); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if m.count == int64(len(m.first)) {
		err = gone(m.first)
	} else {
		err = sc.eachMissing(ctx, func(keys []string, _ []int64) error { return gone(keys) })
	}
	if err != nil {
		return err
	}
	return sc.sweepReannounced(ctx)
}

// sweepReannounced deletes the resources that were announced again, are therefore newer
// than the scan, and are not in the listing. Other resources may be announced again for
// each.
func (sc *scanRun) sweepReannounced(ctx context.Context) error {
	for len(sc.reannounced) > 0 {
		keys := slices.Sorted(maps.Keys(sc.reannounced))
		keys = keys[:min(len(keys), batch)]
		spilled, err := sc.spilled(ctx, len(keys), func(i int) []byte { return []byte(keys[i]) })
		if err != nil {
			return err
		}
		var gone []changes.Edit
		for i, key := range keys {
			if !spilled[i] && !sc.seen.has(sc.seen.hash([]byte(key))) {
				gone = append(gone, changes.Edit{Type: resourcesync.Deleted, Key: key})
			}
		}
		if err := sc.change(ctx, gone, nil); err != nil {
			return err
		}
		for _, key := range keys {
			delete(sc.reannounced, key)
		}
	}
	return nil
}
