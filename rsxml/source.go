package rsxml

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxElement is the greatest number of bytes that the head of a document or one
// entry may have. It bounds the memory of the decoder, which holds one of them
// at a time.
const maxElement = 1 << 20

var (
	errLongDocument = errors.New("document too long")
	errLongElement  = errors.New("element too long")
)

// A source is where the XML parser takes its bytes from. It counts them, so that
// neither a document nor what the parser must hold of it can exceed its limit.
type source struct {
	*bufio.Reader
	document int   // bytes read
	element  int   // bytes read of the head or entry, or since the last one
	most     int   // that element may be: maxElement but in tests
	err      error // of the underlying reader, but for io.EOF
}

func newSource(r io.Reader) *source {
	return &source{Reader: bufio.NewReader(r), most: maxElement}
}

// skipBOM reads over a byte order mark, which the XML parser would take for
// text.
func (s *source) skipBOM() {
	bom := []byte("\uFEFF")
	if b, _ := s.Peek(len(bom)); bytes.Equal(b, bom) {
		n, _ := s.Discard(len(bom))
		s.document += n
	}
}

// ReadByte implements io.ByteReader, through which encoding/xml reads whatever
// has it.
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
	if s.element > s.most {
		return 0, errLongElement
	}
	return c, nil
}
