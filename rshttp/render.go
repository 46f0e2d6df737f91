package rshttp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// chunkSize is the size of the pieces in which entries are collected. Growing
// one slice to the size of a document costs more than rendering it.
const chunkSize = 64 << 10

// body collects the entries of a document. What stands before them, the head,
// may depend on them and is written afterwards.
type body struct {
	head    *rsxml.Head // says how entries are written
	chunks  [][]byte
	size    int
	entries int
}

var chunks = sync.Pool{New: func() any {
	b := make([]byte, 0, chunkSize+chunkSize/4)
	return &b
}}

// add appends an entry, and reports whether the document still keeps to the
// limits of the format. If not, the entry is the first that is too much.
func (b *body) add(e *rsxml.Entry) (fits bool) {
	n := len(b.chunks)
	if n == 0 || len(b.chunks[n-1]) > chunkSize {
		b.chunks = append(b.chunks, *chunks.Get().(*[]byte))
		n++
	}
	last := &b.chunks[n-1]
	before := len(*last)
	*last = rsxml.AppendEntry(*last, b.head, e)
	b.size += len(*last) - before
	b.entries++
	return b.entries <= rsxml.MaxEntries && b.size <= paging.MaxBytes
}

// free gives b's memory back.
func (b *body) free() {
	for _, c := range b.chunks {
		if cap(c) <= 4*chunkSize {
			c = c[:0]
			chunks.Put(&c)
		}
	}
	b.chunks = nil
}

// text returns the document of the head and the entries of b, in pieces.
func (b *body) text() [][]byte {
	return slices.Concat([][]byte{rsxml.AppendHead(nil, b.head)}, b.chunks, [][]byte{rsxml.AppendTail(nil, b.head)})
}

// seal makes a document of the text of b and what d says of itself.
func (b *body) seal(d *document) (*document, error) { return compress(d, b.text()...) }

// compress completes a document with its text, given in pieces.
func compress(d *document, text ...[]byte) (*document, error) {
	for _, piece := range text {
		d.size += len(piece)
	}
	if d.size > rsxml.MaxBytes {
		return nil, fmt.Errorf("%s would have %d bytes", d.target.path, d.size)
	}
	zipped, _ := zipBuffers.Get().(*bytes.Buffer)
	if zipped == nil {
		zipped = new(bytes.Buffer)
	}
	defer zipBuffers.Put(zipped)
	zipped.Reset()
	zw := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(zw)
	zw.Reset(zipped)
	sum := sha256.New()
	for _, piece := range text {
		sum.Write(piece)
		_, _ = zw.Write(piece) // into memory: cannot fail
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	d.gzip = bytes.Clone(zipped.Bytes())
	if d.size <= keepPlain {
		d.plain = slices.Concat(text...)
	}
	d.seal([sha256.Size]byte(sum.Sum(nil)))
	return d, nil
}

var (
	zipBuffers  sync.Pool
	gzipWriters = sync.Pool{New: func() any {
		// The fastest level: compressing is what a cold page costs, and
		// higher levels save a twentieth of the bytes for twice the time.
		zw, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return zw
	}}
)
