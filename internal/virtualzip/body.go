package virtualzip

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
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
		switch src := b.src.(type) {
		case io.Seeker:
			b.passed, b.left = offset, b.size-offset
			_, err := src.Seek(offset, io.SeekStart)
			return err
		case io.ReaderAt:
			b.passed, b.left = offset, b.size-offset
			b.src = &section{src, offset}
			return nil
		}
	}
	if offset == 0 {
		return nil
	}
	return b.unsent(offset, func(buf []byte) (int, error) { return b.read(buf) })
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

// A section reads an io.ReaderAt from an offset.
type section struct {
	io.ReaderAt
	offset int64
}

func (s *section) Read(p []byte) (int, error) {
	n, err := s.ReadAt(p, s.offset)
	s.offset += int64(n)
	return n, err
}

func (s *section) Seek(offset int64, _ int) (int64, error) {
	s.offset = offset
	return offset, nil
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
	b.sum = JoinCRC(sum, b.sum, b.size-b.passed)
	return err
}
