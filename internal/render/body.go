// Package render writes documents: entries become text, and the text is compressed
// while entries are still being added.
//
// A document of more than one chunk consists of segments of some hundred entries, which
// are compressed independently of each other. Another goroutine compresses them, because
// reading entries from a store and compressing them take about the same time. After a
// change, the next document takes over the segments that are the same.
package render

import (
	"fmt"
	"strings"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// chunkSize is the size in bytes of buffers, and the size up to which a document is
// compressed as a whole. Growing one slice to the size of a document costs more than
// rendering it.
const chunkSize = 64 << 10

// A chunk is a buffer.
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
	// entries are then not written.
	Written []byte

	// Window, if it is not nil, gets the entries, which are then not written. Text must not be
	// called then.
	Window *Window

	// SizeOnly discards the text of the entries. Text must not be called then.
	SizeOnly bool

	Size    int     // bytes of the entries
	Entries int     // number of entries
	Fields  Omitted // fields that no document can hold

	pieces []*piece
	queued int    // number of pieces that press has or that need none
	last   *piece // the one that grows, or nil
	press  *press // nil while the document fits into a chunk
	keyed  bool   // the entries have keys
}

// Add appends an entry and reports whether the document is still within the limits of
// the format, or of its window. If not, e is the first entry that does not fit.
func (b *Body) Add(e *rsxml.Entry) (fits bool) { return b.add("", e) }

// AddKey is like Add, for an entry with a key. If all entries of a document have keys,
// which must ascend, a large document has Segments.
func (b *Body) AddKey(key string, e *rsxml.Entry) (fits bool) {
	b.keyed = true
	if b.last != nil && !b.SizeOnly && isBoundary(key) {
		b.endPiece()
	}
	return b.add(key, e)
}

func (b *Body) add(key string, e *rsxml.Entry) (fits bool) {
	if b.Window != nil {
		return b.Window.take(b.Head, key, e)
	}
	if b.last == nil {
		b.last = &piece{Segment: Segment{Key: strings.Clone(key)}, text: chunks.Get().(*chunk)}
		b.pieces = append(b.pieces, b.last)
	}
	p, c := b.last, b.last.text
	before := len(c.text)
	var dropped int
	if c.text, dropped = rsxml.AppendEntry(c.text, b.Head, e); dropped > 0 {
		b.Fields.addFields(dropped, b.Head, e)
	}
	p.Size += len(c.text) - before
	p.Entries++
	b.Size += len(c.text) - before
	b.Entries++
	if b.SizeOnly {
		c.text = c.text[:0]
	} else if p.Size > maxSegment {
		b.endPiece()
	}
	return b.fits()
}

// fits reports whether the document is within the limits of the format.
func (b *Body) fits() bool { return b.Entries <= rsxml.MaxEntries && b.Size <= paging.MaxBytes }

// Reuse appends the segments of t that a step names, and reports whether the document is
// still within the limits of the format.
func (b *Body) Reuse(t *Text, s Step) (fits bool) {
	b.endPiece()
	b.keyed = true
	begin := t.begin
	if s.first > 0 {
		begin = t.Segments[s.first-1].end
	}
	pieces := make([]piece, s.end-s.first)
	for i := range pieces {
		p := &pieces[i]
		p.Segment = t.Segments[s.first+i]
		p.zipped = [][]byte{t.Gzip[begin:p.end]}
		begin = p.end
		b.pieces = append(b.pieces, p)
		b.Size += p.Size
		b.Entries += p.Entries
	}
	return b.fits()
}

// endPiece ends the piece that grows. It compresses all pieces that wait, unless the
// document fits into a chunk.
func (b *Body) endPiece() {
	b.last = nil
	if b.Size <= chunkSize {
		return
	}
	if b.press == nil {
		b.press = startPress()
	}
	for ; b.queued < len(b.pieces); b.queued++ {
		if p := b.pieces[b.queued]; p.text != nil {
			b.press.queue <- p
		}
	}
}

// Free releases b's buffers. b is then empty, and can be used again.
func (b *Body) Free() {
	if b.press != nil {
		_ = b.press.stop() // the result is not needed
		b.press.free()
	}
	for _, p := range b.pieces[b.queued:] {
		if p.text != nil {
			p.text.free()
		}
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
	head, tail := rsxml.AppendHead(nil, b.Head), rsxml.AppendTail(nil, b.Head)
	if b.Size <= chunkSize {
		whole := append(make([]byte, 0, b.Len()), head...)
		for _, p := range b.pieces {
			whole = append(whole, p.text.text...)
		}
		return Compress(append(whole, tail...))
	}
	b.endPiece()
	if err := b.press.stop(); err != nil {
		return Text{}, err
	}
	t := join(head, b.pieces, tail)
	if b.keyed {
		t.Segments = make([]Segment, len(b.pieces))
		for i, p := range b.pieces {
			t.Segments[i] = p.Segment
		}
	}
	return t, nil
}
