package virtualzip

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/crc"
)

// A body is the open content of one entry, which is read once and verified.
type body struct {
	*member
	io.Closer
	ctx    context.Context
	turn   Turn
	crc    uint32
	src    io.Reader
	left   int64 // bytes still to be read
	passed int64 // skipped bytes at the beginning, to be read before the last byte is returned
	sum    uint32
	probe  [1]byte // a field, because a variable would be allocated at each use
}

// openAt opens the entry m for reading from offset, which is within its content. Its
// checksum is crc.
func (r *Reader) openAt(m *member, offset int64, crc uint32) (*body, error) {
	src, err := m.open(r.ctx)
	if err != nil {
		return nil, err
	}
	b := &body{member: m, Closer: src, ctx: r.ctx, turn: r.turn, crc: crc, src: src, left: m.size}
	if err := b.skip(offset); err != nil {
		src.Close()
		return nil, err
	}
	return b, nil
}

// skip moves from the beginning to offset. The skipped bytes of a source that can seek
// are read later, and only if its last byte is requested.
func (b *body) skip(offset int64) error {
	if offset > bufferSize {
		src, ok := b.src.(io.Seeker)
		if at, isAt := b.src.(io.ReaderAt); isAt && !ok {
			section := io.NewSectionReader(at, 0, math.MaxInt64)
			b.src, src, ok = section, section, true
		}
		if ok {
			b.passed, b.left = offset, b.size-offset
			_, err := src.Seek(offset, io.SeekStart)
			return err
		}
	}
	if offset == 0 {
		return nil
	}
	return b.unsent(offset, b.read)
}

// unsent reads n bytes that are not returned. A long read waits for a turn.
func (b *body) unsent(n int64, read func([]byte) (int, error)) error {
	if n > bufferSize && b.turn != nil {
		end, err := b.turn(b.ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for n > 0 {
		m, err := read(buf[:min(bufferSize, n)])
		if err == nil {
			err = b.ctx.Err()
		}
		if err != nil {
			return err
		}
		n -= int64(m)
	}
	return nil
}

// read fills p, or the part of p that the rest of the content fills. It returns the last
// bytes only after it has verified the complete content.
func (b *body) read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), b.left)]
	switch _, err := io.ReadFull(b.src, p); err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		return 0, fmt.Errorf("%w: shorter than %d bytes", ErrChanged, b.size)
	default:
		return 0, err
	}
	b.left -= int64(len(p))
	b.sum = crc32.Update(b.sum, crc32.IEEETable, p)
	if b.left > 0 {
		return len(p), nil
	}
	switch _, err := io.ReadFull(b.src, b.probe[:]); err {
	case io.EOF:
	case nil:
		return 0, fmt.Errorf("%w: longer than %d bytes", ErrChanged, b.size)
	default:
		return 0, err
	}
	if b.passed > 0 {
		if err := b.readPassed(); err != nil {
			return 0, err
		}
	}
	if b.sum != b.crc {
		return 0, fmt.Errorf("%w: its CRC-32 is %08x, not %08x", ErrChanged, b.sum, b.crc)
	}
	return len(p), nil
}

// readPassed reads the skipped bytes, for the checksum of the complete content.
func (b *body) readPassed() error {
	if _, err := b.src.(io.Seeker).Seek(0, io.SeekStart); err != nil {
		return err
	}
	var sum uint32
	err := b.unsent(b.passed, func(buf []byte) (int, error) {
		n, err := io.ReadFull(b.src, buf)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("%w: shorter than %d bytes", ErrChanged, b.size)
		}
		sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
		return n, err
	})
	b.sum = crc.Join(sum, b.sum, b.size-b.passed)
	return err
}

// bufferSize is the size of one read or write that the caller does not determine. A read
// that begins within bufferSize of an entry's beginning starts at the beginning, which
// costs well under a millisecond.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Checksum reads r to its end and returns the Size and CRC32 of an [Entry] with this
// content. It returns errors of reading and of ctx.
func Checksum(ctx context.Context, r io.Reader) (size int64, crc uint32, err error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		size += int64(n)
		crc = crc32.Update(crc, crc32.IEEETable, buf[:n])
		if err == io.EOF {
			return size, crc, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
	}
}
