package virtualzip

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// An Archive is the layout of a ZIP archive. It takes about 140 bytes for each entry and
// twice the length of its name, without the data that Open refers to, and 24 bytes more
// if checksums are deferred. Its bytes never change. It is safe for concurrent use.
type Archive struct {
	// headers is everything except content, in the order of the archive: the
	// header before each entry's content, then the central directory.
	headers []byte
	members []member
	size    int64
	version string

	// sums are the deferred checksums of members; nil if there are none. Missing
	// ones are zero in headers. They are written there under mu, before any reader
	// may read them.
	sums    []deferred
	mu      sync.Mutex
	missing atomic.Int64
}

// A member is an entry, as far as reading needs it.
type member struct {
	open   func(context.Context) (io.ReadCloser, error)
	start  int64 // offset of its content in the archive
	size   int64
	header int // length of headers before its content
}

const (
	closureCost = 32                                             // a closure of a few words
	headersCost = 30 + 46 + 2*9                                  // the headers of an entry, without its name
	memberCost  = int64(unsafe.Sizeof(member{})) + closureCost   // with its Open
	sumCost     = int64(unsafe.Sizeof(deferred{})) + closureCost // with its Checksum
)

// CostOf returns the maximum memory, in bytes, of an entry in an [Archive] if its Open
// and Checksum are closures of a few words.
func CostOf(name string) int64 { return headersCost + 2*int64(len(name)) + memberCost + sumCost }

// Cost returns the memory of a, in bytes, under the same assumption as [CostOf].
func (a *Archive) Cost() int64 {
	return int64(cap(a.headers)) + int64(cap(a.members))*memberCost + int64(cap(a.sums))*sumCost
}

// Size returns the length of the archive in bytes.
func (a *Archive) Size() int64 { return a.size }

// Version returns an opaque string of hexadecimal digits that differs between archives
// that differ in a name, a size, a CRC-32 or a time. A CRC-32, which an adversary can
// forge, does not count if it is deferred. So a caller that has stronger digests of the
// content must compare those too.
func (a *Archive) Version() string { return a.version }

// name returns the name of the i-th entry. It reads the name from the header, to avoid
// storing it a third time.
func (a *Archive) name(i int) string {
	const length, name = 26, 30 // offsets of the fields
	header := a.headers[a.local(i):]
	return string(header[name:][:binary.LittleEndian.Uint16(header[length:])])
}

// local returns the offset of the i-th entry's local header in headers.
func (a *Archive) local(i int) int {
	if i == 0 {
		return 0
	}
	return a.members[i-1].header
}

// locate returns the index of the first entry whose content ends after pos. An empty
// entry at pos counts as ending before.
func (a *Archive) locate(pos int64) int {
	i, _ := slices.BinarySearchFunc(a.members, pos, func(m member, pos int64) int {
		if m.start+m.size > pos {
			return 1
		}
		return -1
	})
	return i
}

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
	known atomic.Bool                           // the headers have it, and no longer change
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
	if a.sums != nil && !a.sums[i].known.Load() {
		return 0, false
	}
	return binary.LittleEndian.Uint32(a.headers[a.local(i)+localCRC:]), true
}

// isSettled reports whether the header of the i-th entry is final. For i beyond the last
// entry, it reports whether the central directory is final.
func (a *Archive) isSettled(i int) bool {
	return a.sums == nil || a.missing.Load() == 0 || i < len(a.sums) && a.sums[i].known.Load()
}

// settle computes the checksums that isSettled(i) needs. Two concurrent readers both
// compute them; neither waits for the other.
func (a *Archive) settle(ctx context.Context, i int) error {
	if a.isSettled(i) {
		return nil
	}
	if i >= len(a.sums) {
		for i := range a.sums {
			if err := a.settle(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	var crc uint32
	err := background.Safely(func() (err error) {
		crc, err = a.sums[i].find(ctx)
		return err
	})
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
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.Sum(i); ok {
		if crc != known {
			return &EntryError{a.name(i), fmt.Errorf("%w: its CRC-32 is %08x, not %08x", ErrChanged, crc, known)}
		}
		return nil
	}
	d := &a.sums[i]
	binary.LittleEndian.PutUint32(a.headers[a.local(i)+localCRC:], crc)
	binary.LittleEndian.PutUint32(a.headers[d.place+directoryCRC:], crc)
	d.known.Store(true)
	a.missing.Add(-1)
	return nil
}
