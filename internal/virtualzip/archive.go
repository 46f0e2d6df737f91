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

// An Archive is a ZIP package of which only the layout is in memory: about 140
// bytes for each entry and its name twice, beside what its Open refers to, and 24
// more if there are checksums to be found out. Its bytes do not change, and it is
// safe for concurrent use.
type Archive struct {
	// headers is all that is not content, in the order of the package: what
	// stands before each entry's content, then the central directory.
	headers []byte
	members []member
	size    int64
	version string

	// sums are the checksums of members that are found out later; nil if
	// there are none. Those that are missing are zero in headers. What is
	// found is written there under mu, and nobody reads it before.
	sums    []deferred
	mu      sync.Mutex
	missing atomic.Int64
}

// A member is what reading an entry takes.
type member struct {
	open   func(context.Context) (io.ReadCloser, error)
	start  int64 // where its content begins in the package
	size   int64
	header int    // how much of headers comes before its content
	crc    uint32 // if it is not deferred
}

const (
	closureCost = 32                                             // of a few words
	headersCost = 30 + 46 + 2*9                                  // of an entry, without its name, with a time
	memberCost  = int64(unsafe.Sizeof(member{})) + closureCost   // with its Open
	sumCost     = int64(unsafe.Sizeof(deferred{})) + closureCost // with its Checksum
)

// CostOf returns the memory that an entry takes in an [Archive] at most, in bytes, if
// its Open and Checksum are closures of a few words.
func CostOf(name string) int64 { return headersCost + 2*int64(len(name)) + memberCost + sumCost }

// Cost returns the memory that a takes, in bytes, with such closures.
func (a *Archive) Cost() int64 {
	return int64(cap(a.headers)) + int64(cap(a.members))*memberCost + int64(cap(a.sums))*sumCost
}

// Size returns the length of the package in bytes.
func (a *Archive) Size() int64 { return a.size }

// Version returns an opaque text of hexadecimal digits that differs, for all
// practical purposes, between any two packages that differ in a name, a size, a
// CRC-32, a time or a byte of an entry's Data. Content that is opened counts by
// its size and CRC-32 alone, which an adversary can imitate, or by its size alone
// if Entry.Checksum is still to find the CRC-32 out; Data that states stronger
// digests of it, as a manifest does, closes that gap.
func (a *Archive) Version() string { return a.version }

// name returns the name of the i-th entry. It is taken from its header, which
// begins where the one before it ends, so as not to be held a third time.
func (a *Archive) name(i int) string {
	const length, name = 26, 30 // offsets of the fields
	header := a.headers
	if i > 0 {
		header = header[a.members[i-1].header:]
	}
	return string(header[name:][:binary.LittleEndian.Uint16(header[length:])])
}

// locate returns the index of the first entry whose content ends after pos. An
// empty entry at pos lies before it.
func (a *Archive) locate(pos int64) int {
	i, _ := slices.BinarySearchFunc(a.members, pos, func(m member, pos int64) int {
		if m.start+m.size > pos {
			return 1
		}
		return -1
	})
	return i
}
