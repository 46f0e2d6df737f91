package rsxml

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxElement is the maximum length, in bytes, of the head of a document or of an
// entry. It bounds the memory of the decoder, which holds one of them at a time.
const maxElement = 1 << 20

// bufferSize is the size of the buffer of a decoder, in bytes. Longer entries are left to
// encoding/xml.
const bufferSize = 16 << 10

var (
	errLongDocument = errors.New("document too long")
	errLongElement  = errors.New("element too long")
)

// A source is the input of the XML parser. It counts bytes to enforce the limits of
// documents and elements.
type source struct {
	*bufio.Reader
	document int   // bytes read of the document
	element  int   // bytes read of the head or the entry, or since its end
	limit    int   // the maximum of element: maxElement, or less in tests
	err      error // of the underlying reader, except io.EOF
	later    error // of the underlying reader, after what is buffered
	misses   int   // entries without an end in the buffer

	unlimited bool // the document may have more than MaxBytes bytes
}

// skipBOM skips a byte order mark, which the XML parser would read as text.
func (s *source) skipBOM() {
	bom := []byte("\uFEFF")
	if b, _ := s.Peek(len(bom)); bytes.Equal(b, bom) {
		n, _ := s.Discard(len(bom))
		s.document += n
	}
}

// buffered returns what has been read ahead.
func (s *source) buffered() []byte {
	b, _ := s.Peek(s.Buffered())
	return b
}

// more reads more ahead, and reports whether there is more and the buffer had room.
func (s *source) more() bool {
	if s.later != nil || s.Buffered() == s.Size() {
		return false
	}
	_, s.later = s.Peek(s.Buffered() + 1)
	return s.later == nil
}

// skip skips n of the bytes that have been read ahead.
func (s *source) skip(n int) {
	s.Discard(n)
	s.document += n
}

// ReadByte implements io.ByteReader. encoding/xml reads only through it.
func (s *source) ReadByte() (c byte, err error) {
	if err = s.later; err == nil || s.Buffered() > 0 {
		c, err = s.Reader.ReadByte()
	}
	if err != nil {
		if err != io.EOF {
			s.err = err
		}
		return 0, err
	}
	s.document++
	s.element++
	if s.document > MaxBytes && !s.unlimited {
		return 0, errLongDocument
	}
	if s.element > s.limit {
		return 0, errLongElement
	}
	return c, nil
}
