package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// chunk is the maximum number of rows that a statement reads. No page has more, so a
// page shows one state, unless a standby fails in its middle. A walk over a whole set that
// ends early does not make the engine prepare all of it.
const chunk = rsxml.MaxEntries

// fewRows is the number of rows that the first statement of [Set.Resources] reads.
// PostgreSQL sends all rows of a statement, and pages for people need only so many.
const fewRows = 256

// errDeleted reports a row that only remembers a deletion. Skipping such rows here is
// cheaper than in the engine, which would read every body twice.
var errDeleted = errors.New("the row is of a deleted resource")

// A reader decodes resources from rows.
type reader struct {
	buf     []byte // the last row: its key and its body
	key     int    // length of the key
	text    strings.Builder
	decoder codec.Decoder
}

// maxText is the maximum size of a string that several resources share, in bytes. A
// caller that keeps one of them keeps the memory of the others.
const maxText = 4 << 10

// read decodes the resource whose key and body are in two columns of row. Both become
// part of one string, the only allocation for a resource without links.
func (d *reader) read(row rowdb.Row, key, body int) (resourcesync.Resource, error) {
	d.buf = row.Append(d.buf[:0], key)
	d.key = len(d.buf)
	d.buf = row.Append(d.buf, body)
	if len(d.buf) == d.key {
		return resourcesync.Resource{}, errDeleted
	}
	if d.text.Cap()-d.text.Len() < len(d.buf) {
		// Double the size each time, so that reading few resources allocates little.
		size := max(len(d.buf), min(2*d.text.Cap(), maxText))
		d.text = strings.Builder{}
		d.text.Grow(size)
	}
	begin := d.text.Len()
	d.text.Write(d.buf)
	text := d.text.String()[begin:]
	r, err := d.decoder.Decode(text[d.key:])
	if err == nil {
		r.Key = text[:d.key]
	}
	return r, err
}

// Resources implements [resourcesync.Provider].
func (s *Set) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		var d reader
		operator, from, to := ">=", []byte(r.From), endOf(r)
		rows, last := 0, []byte(nil) // how many have been read, and the key of the last one
		each := func(row rowdb.Row) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := d.read(row, 0, 1)
			switch {
			case err == errDeleted:
			case err != nil:
				return damagedRow(err, "rs_resource", d.buf[:d.key])
			case !yield(r, nil):
				return rowdb.ErrStop
			}
			rows, last = rows+1, append(last[:0], d.buf[:d.key]...)
			return nil
		}
		var err error
		limits := []int{fewRows, chunk - fewRows}
		for more := true; more && err == nil; limits = []int{chunk} {
			err = s.snapshot(ctx, func(c rowdb.Conn) error {
				if err := s.checkReady(ctx, c); err != nil {
					return err
				}
				for _, limit := range limits {
					before := rows
					if rows > 0 {
						operator, from = ">", bytes.Clone(last)
					}
					err := c.Query(ctx, "SELECT key, body FROM rs_resource WHERE set_id = $1 AND key "+operator+" $2 AND key < $3 ORDER BY key LIMIT $4",
						each, s.id, from, to, limit)
					if more = rows == before+limit; err != nil || !more {
						return err
					}
				}
				return nil
			})
		}
		if err != nil && err != rowdb.ErrStop {
			yield(resourcesync.Resource{}, s.fail("resources", err))
		}
	}
}

// endOf returns the end of r, or a key after all keys if r has none.
func endOf(r resourcesync.Range) []byte {
	if r.To != "" {
		return []byte(r.To)
	}
	return beyond
}

var beyond = bytes.Repeat([]byte{0xff}, resourcesync.MaxKeyLength+1)

// Get returns the resource with this key, and whether there is one. It also works
// while a set awaits its first scan.
func (s *Set) Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error) {
	err = s.store.db.Query(ctx, "SELECT key, body FROM rs_resource WHERE set_id = $1 AND key = $2 AND body IS NOT NULL",
		func(row rowdb.Row) (err error) {
			var d reader
			r, err = d.read(row, 0, 1)
			found = err == nil
			return err
		}, s.id, []byte(key))
	return r, found, s.fail("get", err)
}

// Changes implements [resourcesync.Changer]. A deletion from a Set has the Key and URI
// of the resource, and the fields that were recorded with it. Up to 50,000 changes are
// read from one state of the journal. If later ones are dropped from the journal before
// they are read, Changes yields an error.
func (j *Journal) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for c, err := range j.read(ctx, iv, current) {
			if !yield(c, j.fail("changes", err)) {
				return
			}
		}
	}
}

// A part is the journal or its archive. Both are in one table.
type part struct {
	bounds string // the condition that a change is in it
	since  func(*setRow) int64

	// snapshot reads the part. The archive is read from the primary: a standby may still have
	// erased changes, and erasing adds no change by which that could be noticed.
	snapshot func(j *Journal, ctx context.Context, f func(rowdb.Conn) error) error
}

var (
	current = part{
		"at > (SELECT since FROM rs_set WHERE id = $1)",
		func(set *setRow) int64 { return set.since },
		(*Journal).snapshot,
	}
	archived = part{
		"at > (SELECT archive FROM rs_set WHERE id = $1) AND at <= (SELECT since FROM rs_set WHERE id = $1)",
		func(set *setRow) int64 { return set.archive },
		func(j *Journal, ctx context.Context, f func(rowdb.Conn) error) error {
			return j.store.db.Snapshot(ctx, f)
		},
	}
)

// read yields the changes in iv of a part of the journal.
func (j *Journal) read(ctx context.Context, iv resourcesync.Interval, of part) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		var d reader
		var change []byte
		after, until := bounds(iv)
		n, continued := 0, false
		each := func(row rowdb.Row) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			at := row.Int(0)
			j.saw(at)
			raise(&j.found, at)
			change = row.Append(change[:0], 1)
			r, err := d.read(row, 2, 3)
			if err != nil {
				return damagedRow(err, fmt.Sprintf("rs_change, time %d", at), d.buf[:d.key])
			}
			if !yield(resourcesync.Change{Type: changeType(change), Datetime: moment(at), Resource: r}, nil) {
				return rowdb.ErrStop
			}
			n, after, continued = n+1, at, true
			return nil
		}
		var err error
		for more := true; more && err == nil; more = n == chunk {
			err = of.snapshot(j, ctx, func(c rowdb.Conn) error {
				n = 0
				if err := j.checkReady(ctx, c); err != nil {
					return err
				}
				if continued {
					if err := j.checkSince(ctx, c, of, after); err != nil {
						return err
					}
				}
				return c.Query(ctx, `SELECT at, change, key, body FROM rs_change
					WHERE set_id = $1 AND at > $2 AND at <= $3 AND `+of.bounds+`
					ORDER BY at LIMIT $4`,
					each, j.id, after, until, chunk)
			})
		}
		if err != nil && err != rowdb.ErrStop {
			yield(resourcesync.Change{}, err)
		}
	}
}

// checkSince returns an error if changes later than after have been dropped from a part
// of the journal.
func (j *Journal) checkSince(ctx context.Context, c rowdb.Conn, of part, after int64) error {
	set, err := readSet(ctx, c, j.id)
	if err == nil && of.since(&set) > after {
		err = errors.New("changes have been dropped from the journal before they were read")
	}
	return err
}

// bounds returns the last microsecond before iv and the last in it.
func bounds(iv resourcesync.Interval) (after, until int64) {
	const never = 1<<63 - 1
	after, until = -never, never
	if !iv.From.IsZero() {
		after = iv.From.UnixMicro()
	}
	if !iv.Until.IsZero() {
		until = iv.Until.UnixMicro()
	}
	return after, until
}

// changeType returns one of the constants, so that it allocates nothing.
func changeType(b []byte) resourcesync.ChangeType {
	switch string(b) {
	case string(resourcesync.Created):
		return resourcesync.Created
	case string(resourcesync.Updated):
		return resourcesync.Updated
	case string(resourcesync.Deleted):
		return resourcesync.Deleted
	}
	return resourcesync.ChangeType(b)
}

// Known returns the resources with these keys, in the same order, and the zero Resource
// for a key without one or with a damaged one. Scanners use it to find what has
// changed. It also works while a set awaits its first scan. It sends a few batches of
// queries, because the database may be remote, and reads sorted keys that are close to
// each other in the set much faster.
func (s *Set) Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
	known := make([]resourcesync.Resource, len(keys))
	err := s.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return readRows(ctx, c, s.id, keys, func(i int, row rowdb.Row) (err error) {
			if row.Null(4) {
				return nil
			}
			var d codec.Decoder // a new one, because known[i] keeps its slices
			known[i], err = d.Decode(rowdb.String(row, 4))
			if err != nil {
				s.store.noteDamage(s.name, damagedRow(err, "rs_resource", []byte(keys[i])))
				return nil
			}
			known[i].Key = keys[i]
			return nil
		})
	})
	if err != nil {
		return nil, s.fail("known", err)
	}
	return known, nil
}
