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
}

func newSource(r io.Reader) *source {
	return &source{Reader: bufio.NewReader(r), limit: maxElement}
}

// skipBOM skips a byte order mark, which the XML parser would read as text.
func (s *source) skipBOM() {
	bom := []byte("\uFEFF")
	if b, _ := s.Peek(len(bom)); bytes.Equal(b, bom) {
		n, _ := s.Discard(len(bom))
		s.document += n
	}
}

// ReadByte implements io.ByteReader. encoding/xml reads only through it.
func (s *source) ReadByte() (byte, error) {
	c, err := s.Reader.ReadByte()
	if err != nil {
		if err != io.EOF {
			s.err = err
		}
		return 0, err
	}
	s.document++
	s.element++
	if s.document > MaxBytes {
		return 0, errLongDocument
	}
	if s.element > s.limit {
		return 0, errLongElement
	}
	return c, nil
}
