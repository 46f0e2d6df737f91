package rshttp

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/deflate"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A press compresses the text of a document. It may do so in a goroutine of its
// own.
type press struct {
	deflate deflate.Encoder
	out     []*chunk  // what it has compressed
	zipped  int       // bytes in out
	sum     hash.Hash // of them
	crc     uint32    // of the text
	size    int       // of the text

	queue chan<- *chunk // nil once stopped
	done  chan struct{}
	err   error // once done
}

// queued is how many chunks may wait for a press.
const queued = 4

var presses = sync.Pool{New: func() any { return &press{sum: sha256.New()} }}

func getPress() *press {
	p := presses.Get().(*press)
	p.zipped, p.crc, p.size = 0, 0, 0
	p.sum.Reset()
	return p
}

// startPress returns a press at work. It works until it is stopped.
func startPress() *press {
	p := getPress()
	queue := make(chan *chunk, queued)
	p.queue, p.done = queue, make(chan struct{})
	go p.run(queue)
	return p
}

func (p *press) run(queue <-chan *chunk) {
	defer close(p.done)
	p.err = safely(func() error {
		for c := range queue {
			p.write(c.text)
			c.free()
		}
		p.end()
		return nil
	})
	for range queue { // after a panic: nobody must wait for ever
	}
}

// stop waits until all that is in the queue is compressed. It may be called again.
func (p *press) stop() error {
	if p.queue != nil {
		close(p.queue)
		p.queue = nil
	}
	<-p.done
	return p.err
}

// free lets others use p, which has never worked or is stopped.
func (p *press) free() {
	for _, c := range p.out {
		c.free()
	}
	p.out = p.out[:0]
	if p.err == nil {
		presses.Put(p)
	}
}

// write compresses text.
func (p *press) write(text []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, text)
	p.size += len(text)
	c := p.room()
	before := len(c.text)
	c.text = p.deflate.Append(c.text, text)
	p.took(c.text[before:])
}

// end completes what p has compressed.
func (p *press) end() {
	c := p.room()
	before := len(c.text)
	c.text = p.deflate.AppendEnd(c.text)
	p.took(c.text[before:])
}

// room returns the chunk that takes what is compressed next. Text takes less room
// compressed than half a chunk, as a rule.
func (p *press) room() *chunk {
	if n := len(p.out); n > 0 && len(p.out[n-1].text) < chunkSize/2 {
		return p.out[n-1]
	}
	c := chunks.Get().(*chunk)
	p.out = append(p.out, c)
	return c
}

func (p *press) took(data []byte) {
	p.zipped += len(data)
	p.sum.Write(data)
}

// complete completes d with its text: head, and what p has compressed.
//
// The text becomes one gzip member, because some clients read no more than the
// first. Its first blocks, not compressed, are the head, which is known last.
// Validators are made of the compressed bytes: they are a function of the text,
// and of what compresses it, which must not change behind an entity tag.
func (d *document) complete(head []byte, p *press) {
	d.size = len(head) + p.size
	d.crc = virtualzip.JoinCRC(crc32.ChecksumIEEE(head), p.crc, int64(p.size))
	const (
		header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff" // RFC 1952: made as fast as possible
		block  = 1<<16 - 1                                  // bytes in a block, at most
		frame  = len(header) + 8
	)
	b := make([]byte, 0, frame+len(head)+5*(len(head)/block+1)+p.zipped)
	b = append(b, header...)
	for rest := head; len(rest) > 0; {
		n := min(len(rest), block)
		b = append(b, 0) // not compressed, not the last
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, ^uint16(n))
		b = append(b, rest[:n]...)
		rest = rest[n:]
	}
	p.sum.Write(b)
	for _, c := range p.out {
		b = append(b, c.text...)
	}
	b = binary.LittleEndian.AppendUint32(b, d.crc)
	b = binary.LittleEndian.AppendUint32(b, uint32(d.size))
	p.sum.Write(b[len(b)-8:])
	d.gzip = b
	d.seal([sha256.Size]byte(p.sum.Sum(nil)))
}
