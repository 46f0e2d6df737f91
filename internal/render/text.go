package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// keepPlain is the size in bytes up to which a document is kept uncompressed beside
// its compressed form. Larger ones are inflated for the few clients that do not take
// gzip.
const keepPlain = 16 << 10

// A Text is the text of a document, compressed. It is immutable.
type Text struct {
	Gzip  []byte
	Plain []byte            // the same uncompressed; nil if it is large
	Size  int               // bytes before compression
	CRC   uint32            // CRC-32 of those bytes
	Sum   [sha256.Size]byte // a digest for entity tags

	// Segments are the parts that are compressed independently. There are none if
	// the document is small or its entries have no keys.
	Segments []Segment

	begin int // of the first segment in Gzip
}

// Compress returns the document whose text is given.
func Compress(text []byte) (Text, error) {
	if len(text) > rsxml.MaxBytes {
		return Text{}, fmt.Errorf("the document would have %d bytes", len(text))
	}
	c := getCompressor()
	defer c.free()
	var p piece
	c.compress(&p, text, true)
	t := join(nil, []*piece{&p}, nil)
	if len(text) <= keepPlain {
		t.Plain = text
	}
	return t, nil
}

// Memory returns the number of bytes that t takes in memory.
func (t *Text) Memory() int64 {
	n := int64(cap(t.Gzip)+cap(t.Plain)) + int64(cap(t.Segments))*int64(unsafe.Sizeof(Segment{}))
	for i := range t.Segments {
		n += int64(len(t.Segments[i].Key))
	}
	return n
}

// Open opens the uncompressed text.
func (t *Text) Open(context.Context) (io.ReadCloser, error) {
	if t.Plain != nil {
		return io.NopCloser(bytes.NewReader(t.Plain)), nil
	}
	return gzip.NewReader(bytes.NewReader(t.Gzip))
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// WritePlain writes the uncompressed text to w.
func (t *Text) WritePlain(w io.Writer) error {
	if t.Plain != nil {
		_, err := w.Write(t.Plain)
		return err
	}
	zr := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(zr)
	if err := zr.Reset(bytes.NewReader(t.Gzip)); err != nil {
		return err
	}
	_, err := io.Copy(w, zr)
	return err
}
