// Package render writes documents: entries become text, and the text is compressed
// while entries are still being added.
//
// A document of more than one chunk is compressed by another goroutine, because
// reading its entries from a store and compressing them take about the same time.
package render

import (
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// chunkSize is the size in bytes of the pieces in which entries are collected.
// Growing one slice to the size of a document costs more than rendering it.
const chunkSize = 64 << 10

// A chunk is a piece of the text of a document.
type chunk struct{ text []byte }

var chunks = sync.Pool{New: func() any { return &chunk{make([]byte, 0, chunkSize+chunkSize/4)} }}

// free returns c to the pool.
func (c *chunk) free() {
	if cap(c.text) <= 4*chunkSize {
		c.text = c.text[:0]
		chunks.Put(c)
	}
}

// A Body collects the entries of a document. The caller calls Free after the last
// Add. A Body is used by one goroutine.
type Body struct {
	// Head comes before the entries and determines how they are written. It may
	// depend on them: its metadata and links can be replaced until Text is called.
	Head *rsxml.Head

	// Written, if it is not nil, is the complete text of the document. Head and
	// entries are then unused.
	Written []byte

	// SizeOnly discards the text of the entries. Text must not be called then.
	SizeOnly bool

	Size    int     // bytes of the entries
	Entries int     // number of entries
	Fields  Omitted // fields that no document can hold

	last  *chunk
	press *compressor // has the chunks before last; nil if there are none
}

// Add appends an entry and reports whether the document is still within the limits of
// the format. If not, e is the first entry that does not fit.
func (b *Body) Add(e *rsxml.Entry) (fits bool) {
	if b.last == nil {
		b.last = chunks.Get().(*chunk)
	}
	before := len(b.last.text)
	var dropped int
	if b.last.text, dropped = rsxml.AppendEntry(b.last.text, b.Head, e); dropped > 0 {
		b.Fields.addFields(dropped, b.Head, e)
	}
	b.Size += len(b.last.text) - before
	b.Entries++
	if b.SizeOnly {
		b.last.text = b.last.text[:0]
	} else if len(b.last.text) > chunkSize {
		b.compressLast()
	}
	return b.Entries <= rsxml.MaxEntries && b.Size <= paging.MaxBytes
}

// compressLast hands the last chunk to the compressor.
func (b *Body) compressLast() {
	if b.press == nil {
		b.press = startCompressor()
	}
	b.press.queue <- b.last
	b.last = nil
}

// Free releases b's buffers. b is then empty, and can be used again.
func (b *Body) Free() {
	if b.press != nil {
		b.press.stop()
		b.press.free()
	}
	if b.last != nil {
		b.last.free()
	}
	*b = Body{}
}

// Len returns the number of bytes of the document, before compression.
func (b *Body) Len() int {
	return len(rsxml.AppendHead(nil, b.Head)) + b.Size + len(rsxml.AppendTail(nil, b.Head))
}

// Text completes the document. It is called once.
func (b *Body) Text() (Text, error) {
	if b.Written != nil {
		return Compress(b.Written)
	}
	if n := b.Len(); n > rsxml.MaxBytes {
		return Text{}, fmt.Errorf("the document would have %d bytes", n)
	}
	head := rsxml.AppendHead(nil, b.Head)
	if b.last == nil {
		b.last = chunks.Get().(*chunk)
	}
	b.last.text = rsxml.AppendTail(b.last.text, b.Head)
	if b.press == nil {
		return Compress(slices.Concat(head, b.last.text))
	}
	b.compressLast()
	if err := b.press.stop(); err != nil {
		return Text{}, err
	}
	return b.press.text(head), nil
}
