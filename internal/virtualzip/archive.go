package virtualzip

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
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
	header int    // length of headers before its content
	crc    uint32 // valid if it is not deferred
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
// that differ in a name, a size, a CRC-32, a time or a byte of an entry's Data. Opened
// content counts by its size and CRC-32, which an adversary can forge, or by its size
// alone if the CRC-32 is deferred. Data with stronger digests of the content, such as a
// manifest, closes that gap.
func (a *Archive) Version() string { return a.version }

// name returns the name of the i-th entry. It reads the name from the header, to avoid
// storing it a third time.
func (a *Archive) name(i int) string {
	const length, name = 26, 30 // offsets of the fields
	header := a.headers
	if i > 0 {
		header = header[a.members[i-1].header:]
	}
	return string(header[name:][:binary.LittleEndian.Uint16(header[length:])])
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
