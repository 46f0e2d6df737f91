package rshttp

import (
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// chunkSize is the size of the pieces in which entries are collected. Growing
// one slice to the size of a document costs more than rendering it.
const chunkSize = 64 << 10

// A chunk is a piece of the text of a document.
type chunk struct{ text []byte }

var chunks = sync.Pool{New: func() any { return &chunk{make([]byte, 0, chunkSize+chunkSize/4)} }}

// free lets others use c.
func (c *chunk) free() {
	if cap(c.text) <= 4*chunkSize {
		c.text = c.text[:0]
		chunks.Put(c)
	}
}

// A body takes the entries of a document. What stands before them, the head,
// may depend on them and can be replaced until the document is sealed. A body
// that has been written to must be freed.
//
// A document of more than one chunk is compressed by another goroutine while its
// entries are still coming: reading them from a store and compressing them take
// about the same time.
type body struct {
	head    *rsxml.Head // says how entries are written
	size    int         // bytes of the entries
	entries int
	fields  leftOut // left out of them
	weighed bool    // only the size is used
	last    *chunk
	press   *press // has what came before last; nil if nothing did
}

// add appends an entry, and reports whether the document still keeps to the
// limits of the format. If not, the entry is the first that is too much.
func (b *body) add(e *rsxml.Entry) (fits bool) {
	if b.last == nil {
		b.last = chunks.Get().(*chunk)
	}
	before := len(b.last.text)
	var dropped int
	if b.last.text, dropped = rsxml.AppendEntry(b.last.text, b.head, e); dropped > 0 {
		b.fields.addFields(dropped, b.head, e)
	}
	b.size += len(b.last.text) - before
	b.entries++
	if b.weighed {
		b.last.text = b.last.text[:0]
	} else if len(b.last.text) > chunkSize {
		b.handOn()
	}
	return b.entries <= rsxml.MaxEntries && b.size <= paging.MaxBytes
}

// handOn has the last chunk compressed.
func (b *body) handOn() {
	if b.press == nil {
		b.press = startPress()
	}
	b.press.queue <- b.last
	b.last = nil
}

// free gives b's memory back.
func (b *body) free() {
	if b.press != nil {
		b.press.stop()
		b.press.free()
		b.press = nil
	}
	if b.last != nil {
		b.last.free()
		b.last = nil
	}
}

// length returns the bytes of the document.
func (b *body) length() int {
	return len(rsxml.AppendHead(nil, b.head)) + b.size + len(rsxml.AppendTail(nil, b.head))
}

// seal makes a document of the head, the entries of b, and what d says of itself.
func (b *body) seal(d *document) (*document, error) {
	if n := b.length(); n > rsxml.MaxBytes {
		return nil, fmt.Errorf("%s would have %d bytes", d.target.path, n)
	}
	head := rsxml.AppendHead(nil, b.head)
	if b.last == nil {
		b.last = chunks.Get().(*chunk)
	}
	b.last.text = rsxml.AppendTail(b.last.text, b.head)
	if b.press == nil {
		return compress(d, slices.Concat(head, b.last.text))
	}
	b.handOn()
	if err := b.press.stop(); err != nil {
		return nil, err
	}
	d.complete(head, b.press)
	return d, nil
}

// compress completes a document with its text.
func compress(d *document, text []byte) (*document, error) {
	if len(text) > rsxml.MaxBytes {
		return nil, fmt.Errorf("%s would have %d bytes", d.target.path, len(text))
	}
	if len(text) <= keepPlain {
		d.plain = text
	}
	p := getPress()
	defer p.free()
	p.write(text)
	p.end()
	d.complete(nil, p)
	return d, nil
}
