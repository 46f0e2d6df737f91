package render

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"

	"github.com/resourcesync-go/resourcesync/internal/crc"
)

const (
	// boundaryEvery is the mean number of keys between two boundaries. With fewer, a
	// change costs less, but the text before a segment helps to compress less of it.
	boundaryEvery = 256

	// maxSegment is the size in bytes of the text at which a segment ends before the
	// next boundary.
	maxSegment = 3 * chunkSize
)

// isBoundary reports whether a segment begins at key. It depends on the key alone, so a
// change moves only the boundaries next to it, and all replicas have the same segments. The
// low bits of the hash hardly depend on a key that has a part twice, such as 42/42.pdf.
func isBoundary(key string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() < 1<<32/boundaryEvery
}

// A Segment is a part of a document that is compressed on its own: a run of entries.
type Segment struct {
	Key     string // of the first entry; empty if entries have no keys
	Entries int
	Size    int // bytes of the text

	crc uint32            // of the text
	sum [sha256.Size]byte // of the compressed bytes
	end int               // of the compressed bytes in Text.Gzip
}

// A piece is a segment of a document that is being written.
type piece struct {
	Segment
	text   *chunk   // before compression; nil afterwards
	zipped [][]byte // after it
}

// The frame of a document: RFC 1952, no name or time, fastest algorithm.
const header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// join returns the document that consists of head, the text of the pieces, and tail.
//
// The document is one gzip member, because some clients read only the first member. Each
// piece ends at a byte, without a final block. The head is known last and the tail moves
// when pieces are added, so both are separate, uncompressed blocks. Without a tail, there
// is one piece, which has the final block.
//
// The digest covers the compressed bytes, by the digests of the pieces: an entity tag
// identifies these bytes, and they depend on the compressor as well as on the text.
func join(head []byte, pieces []*piece, tail []byte) Text {
	n := len(header) + stored(head) + stored(tail) + 8
	for _, p := range pieces {
		for _, z := range p.zipped {
			n += len(z)
		}
	}
	b := appendStored(append(make([]byte, 0, n), header...), head, false)
	t := Text{Size: len(head), CRC: crc.Join(0, checksum(head), int64(len(head))), begin: len(b)}
	sum := sha256.New()
	sum.Write(b)
	for _, p := range pieces {
		for _, z := range p.zipped {
			b = append(b, z...)
		}
		p.end = len(b)
		t.Size += p.Size
		t.CRC = crc.Join(t.CRC, p.crc, int64(p.Size))
		sum.Write(p.sum[:])
	}
	last := len(b)
	if tail != nil {
		b = appendStored(b, tail, true)
		t.Size += len(tail)
		t.CRC = crc.Join(t.CRC, checksum(tail), int64(len(tail)))
	}
	b = binary.LittleEndian.AppendUint32(b, t.CRC)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Size))
	sum.Write(b[last:])
	t.Gzip = b
	sum.Sum(t.Sum[:0])
	return t
}

const maxStored = 1<<16 - 1 // bytes in an uncompressed block, at most

// stored returns the maximum size of data in uncompressed blocks.
func stored(data []byte) int { return len(data) + 5*(len(data)/maxStored+1) }

// appendStored appends data in uncompressed blocks. final states that they are the last.
func appendStored(b, data []byte, final bool) []byte {
	for len(data) > 0 {
		n := min(len(data), maxStored)
		kind := byte(0)
		if final && n == len(data) {
			kind = 1
		}
		b = append(b, kind)
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, ^uint16(n))
		b = append(b, data[:n]...)
		data = data[n:]
	}
	return b
}
