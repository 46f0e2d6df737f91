package virtualzip

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Offsets in the headers of an entry (APPNOTE 4.3.7 and 4.3.12).
const (
	localCRC     = 14
	directoryCRC = 16
	directoryLen = 46 // length of a record without its variable part
)

// A deferred is a checksum that is computed when it is needed.
type deferred struct {
	find  func(context.Context) (uint32, error) // nil if it was known from the beginning
	place int                                   // offset of the entry's directory record in headers
	crc   uint32
	known atomic.Bool // crc is set and does not change any more
}

// defers prepares the deferred checksums: those in sums that are not nil.
func (a *Archive) defers(sums []func(context.Context) (uint32, error)) {
	a.sums = make([]deferred, len(sums))
	place := a.members[len(a.members)-1].header
	for i, find := range sums {
		d := &a.sums[i]
		d.find, d.place = find, place
		if find == nil {
			d.known.Store(true)
		} else {
			a.missing.Add(1)
		}
		record := a.headers[place:]
		for _, length := range []int{28, 30, 32} { // of the name, the extra field, the comment
			place += int(binary.LittleEndian.Uint16(record[length:]))
		}
		place += directoryLen
	}
}

// Sum returns the CRC-32 of the i-th entry, if it is already known.
func (a *Archive) Sum(i int) (crc uint32, known bool) {
	if a.sums == nil || a.sums[i].find == nil {
		return a.members[i].crc, true
	}
	d := &a.sums[i]
	if !d.known.Load() {
		return 0, false
	}
	return d.crc, true
}

// isSettled reports whether the header of the i-th entry is final. For i beyond the last
// entry, it reports whether the central directory is final.
func (a *Archive) isSettled(i int) bool {
	return a.sums == nil || a.missing.Load() == 0 || i < len(a.sums) && a.sums[i].known.Load()
}

// settle computes the checksums that isSettled(i) needs.
func (a *Archive) settle(ctx context.Context, i int) error {
	if i < len(a.sums) {
		return a.find(ctx, i)
	}
	for i := range a.sums {
		if err := a.find(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// find computes the checksum of the i-th entry, unless it is known. Two concurrent
// readers both compute it; neither waits for the other.
func (a *Archive) find(ctx context.Context, i int) error {
	d := &a.sums[i]
	if d.known.Load() {
		return nil
	}
	crc, err := protect(func() (uint32, error) { return d.find(ctx) })
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		return &EntryError{a.name(i), err}
	}
	return a.Learn(i, crc)
}

// Learn sets the CRC-32 of the i-th entry, as if a reader had computed it. If another
// one is known, the error is an [*EntryError].
func (a *Archive) Learn(i int, crc uint32) error {
	if a.sums == nil || a.sums[i].find == nil {
		return nil
	}
	d := &a.sums[i]
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.known.Load() {
		if crc != d.crc {
			return &EntryError{a.name(i), fmt.Errorf("%w: its CRC-32 is %08x, not %08x", ErrChanged, crc, d.crc)}
		}
		return nil
	}
	local := 0
	if i > 0 {
		local = a.members[i-1].header
	}
	d.crc = crc
	binary.LittleEndian.PutUint32(a.headers[local+localCRC:], crc)
	binary.LittleEndian.PutUint32(a.headers[d.place+directoryCRC:], crc)
	d.known.Store(true)
	a.missing.Add(-1)
	return nil
}
