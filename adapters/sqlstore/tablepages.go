package sqlstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Division is a table that has a journal, divided into pages. The store keeps it for all
// processes and across restarts. It is for package sqltable.
type Division struct {
	Cuts []resourcesync.Cut // with their counts and newest changes; nil if the store has none
	At   time.Time          // the counts include all changes up to then, and possibly later ones

	stored []byte // the cuts in the store, encoded; nil if there are none
	counts []byte // of the cuts, encoded
}

// Division returns the division of the table into pages of about every resources. The result
// is known if the store still has that one: decoding takes most of the time.
func (j *Journal) Division(ctx context.Context, every int, known *Division) (d Division, err error) {
	err = j.store.db.Query(ctx, "SELECT cuts, at, counts FROM rs_division WHERE set_id = $1 AND every = $2", func(row rowdb.Row) error {
		d.stored, d.counts = row.Append([]byte{}, 0), row.Append(nil, 2)
		at := moment(row.Int(1))
		if at.Equal(known.At) && bytes.Equal(d.stored, known.stored) && bytes.Equal(d.counts, known.counts) {
			d = *known
			return nil
		}
		cuts, err := codec.DecodeCuts(string(d.stored))
		if err != nil {
			return nil // damaged cuts are replaced
		}
		d.Cuts, d.At = cuts, at
		counts := d.counts
		for i := range cuts {
			count, n := binary.Uvarint(counts)
			newest, m := binary.Varint(counts[max(n, 0):])
			if n <= 0 || m <= 0 {
				d.At = time.Time{}
				break
			}
			cuts[i].Count, cuts[i].Newest, counts = int(count), moment(newest), counts[n+m:]
		}
		return nil
	}, j.id, every)
	return d, j.fail("division", err)
}

// KeepDivision replaces the cuts, counts and time of before, from [Journal.Division], with
// the ones in d. It returns false, false if that would wait for a writer, and true, false
// if another process has stored other cuts meanwhile.
func (j *Journal) KeepDivision(ctx context.Context, every int, before, d *Division) (free, kept bool, err error) {
	cuts := codec.AppendCuts([]byte{}, d.Cuts) // not nil, which would be NULL
	counts := []byte{}
	for _, c := range d.Cuts {
		counts = binary.AppendUvarint(counts, uint64(c.Count))
		counts = binary.AppendVarint(counts, c.Newest.UnixMicro())
	}
	free, kept, err = j.keepCuts(ctx, every, before.stored, cuts, counts, d.At.UnixMicro())
	if kept {
		d.stored, d.counts = cuts, counts
	}
	return free, kept, j.fail("division", err)
}

// HasCutsOf reports whether d and o have the same cuts. Their counts may differ.
func (d *Division) HasCutsOf(o *Division) bool {
	if len(d.Cuts) != len(o.Cuts) {
		return false
	}
	for i := range d.Cuts {
		if d.Cuts[i].Key != o.Cuts[i].Key {
			return false
		}
	}
	return true
}

// keepCuts replaces the stored cuts if they still are kept, and reports whether it has. It
// does nothing if that would wait for a writer; free is false then. counts is nil for a set,
// whose blocks are counted.
func (j *Journal) keepCuts(ctx context.Context, every int, kept, cuts, counts []byte, at int64) (free, stored bool, err error) {
	free, err = j.store.db.TryWrite(ctx, func(c rowdb.Conn) error {
		var n int64
		var err error
		if kept == nil {
			n, err = c.Exec(ctx, "INSERT INTO rs_division (set_id, every, cuts, counts, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (set_id, every) DO NOTHING", j.id, every, cuts, counts, at)
		} else {
			n, err = c.Exec(ctx, "UPDATE rs_division SET cuts = $1, counts = $2, at = $3 WHERE set_id = $4 AND every = $5 AND cuts = $6", cuts, counts, at, j.id, every, kept)
		}
		stored = n > 0
		return err
	})
	return free, stored, err
}
