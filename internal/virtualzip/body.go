package virtualzip

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A body is the content of one entry, opened, read once, and checked.
type body struct {
	*member
	io.Closer
	crc   uint32
	src   io.Reader
	left  int64 // bytes still to be read
	whole bool  // all bytes before were read
	sum   uint32
	probe [1]byte // here, because a variable would be allocated at each use
}

// openAt opens m to be read from offset, which lies within its content.
// Its checksum is crc.
func (m *member) openAt(ctx context.Context, offset int64, crc uint32) (*body, error) {
	src, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	b := &body{member: m, Closer: src, crc: crc, src: src, left: m.size, whole: true}
	if err := b.skip(ctx, offset); err != nil {
		src.Close()
		return nil, err
	}
	return b, nil
}

// skip goes to offset, from the beginning.
func (b *body) skip(ctx context.Context, offset int64) error {
	if offset > bufferSize {
		switch src := b.src.(type) {
		case io.Seeker:
			b.whole, b.left = false, b.size-offset
			_, err := src.Seek(offset, io.SeekStart)
			return err
		case io.ReaderAt:
			b.whole, b.left = false, b.size-offset
			b.src = io.NewSectionReader(src, offset, math.MaxInt64-offset)
			return nil
		}
	}
	if offset == 0 {
		return nil
	}
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for skipped := int64(0); skipped < offset; {
		n, err := b.read(buf[:min(bufferSize, offset-skipped)])
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		skipped += int64(n)
	}
	return nil
}

// read fills p or what of p the rest of the content fills. It returns the last
// bytes only when the whole is found to be what the member says.
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
	if b.whole {
		b.sum = crc32.Update(b.sum, crc32.IEEETable, p)
	}
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
	if b.whole && b.sum != b.crc {
		return 0, fmt.Errorf("%w: its CRC-32 is %08x, not %08x", ErrChanged, b.sum, b.crc)
	}
	return len(p), nil
}
