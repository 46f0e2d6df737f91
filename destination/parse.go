package destination

import (
	"fmt"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// readBatch is the number of entries in a transaction, and readBytes the number of bytes
	// of their text. At most three batches are in memory.
	readBatch = 500
	readBytes = 1 << 20
)

// A parser parses the entries of a document in a goroutine, ahead of its users.
type parser struct {
	batches chan []rsxml.Entry // closed at the end
	err     error              // set then
	parts   parts              // set then: the entries of an index, which are in no batch
	ended   chan struct{}
	stopped chan struct{}
	once    sync.Once
}

func parse(d *tree.Document) *parser {
	p := &parser{batches: make(chan []rsxml.Entry, 1), ended: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer close(p.batches)
		p.err = p.run(d)
	}()
	return p
}

// stop ends the goroutine. The document can be closed afterwards.
func (p *parser) stop() {
	p.once.Do(func() { close(p.stopped) })
	<-p.ended
}

func (p *parser) run(d *tree.Document) error {
	var batch []rsxml.Entry
	bytes := 0
	for e, err := range d.Entries() {
		if err != nil {
			return err // what has been read since the last batch is not used
		}
		if d.IsPart(&e) {
			if err := p.parts.add(&e); err != nil {
				return fmt.Errorf("%s: %w", d.URL, err)
			}
			continue
		}
		batch = append(batch, e)
		if bytes += weight(&e); len(batch) < readBatch && bytes < readBytes {
			continue
		}
		if !p.send(batch) {
			return nil
		}
		batch, bytes = make([]rsxml.Entry, 0, len(batch)), 0
	}
	p.send(batch)
	return nil
}

// send sends a batch, and reports whether further ones are wanted.
func (p *parser) send(batch []rsxml.Entry) bool {
	if len(batch) == 0 {
		return true
	}
	select {
	case p.batches <- batch:
		return true
	case <-p.stopped:
		return false
	}
}

// weight returns the approximate number of bytes of an entry in memory.
func weight(e *rsxml.Entry) int {
	n := 512 + len(e.Loc) + len(e.Metadata.Type) + len(e.Metadata.Path) + weigh(e.Metadata.Hashes, e.Metadata.Attrs)
	for i := range e.Links {
		l := &e.Links[i]
		n += 256 + len(l.Rel) + len(l.Href) + len(l.Type) + len(l.Path) + weigh(l.Hashes, l.Attrs)
	}
	return n
}

func weigh(hashes []resourcesync.Hash, attrs []resourcesync.Attr) (n int) {
	for _, h := range hashes {
		n += 32 + len(h.Algorithm) + len(h.Digest)
	}
	for _, a := range attrs {
		n += 48 + len(a.Space) + len(a.Name) + len(a.Value)
	}
	return n
}
