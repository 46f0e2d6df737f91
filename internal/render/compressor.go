package render

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A compressor compresses the text of a document, in a goroutine of its own if it was
// started.
type compressor struct {
	deflate *flate.Writer
	out     []*chunk  // compressed
	zipped  int       // bytes in out
	sum     hash.Hash // of them
	crc     uint32    // of the text
	size    int       // of the text

	queue chan<- *chunk // nil once stopped
	done  chan struct{}
	err   error // once done
}

// queued is how many chunks may wait for a compressor.
const queued = 4

var compressors = sync.Pool{New: func() any {
	p := &compressor{sum: sha256.New()}
	p.deflate, _ = flate.NewWriter(p, flate.BestSpeed) // fails for unknown levels only
	return p
}}

func getCompressor() *compressor {
	p := compressors.Get().(*compressor)
	p.zipped, p.crc, p.size = 0, 0, 0
	p.sum.Reset()
	p.deflate.Reset(p)
	return p
}

// startCompressor returns a compressor whose goroutine runs until it is stopped.
func startCompressor() *compressor {
	p := getCompressor()
	queue := make(chan *chunk, queued)
	p.queue, p.done = queue, make(chan struct{})
	go p.run(queue)
	return p
}

func (p *compressor) run(queue <-chan *chunk) {
	defer close(p.done)
	defer func() {
		if v := recover(); v != nil {
			p.err = fmt.Errorf("compressing: panic: %v\n%s", v, debug.Stack())
			for range queue { // otherwise a sender would block for ever
			}
		}
	}()
	for c := range queue {
		p.write(c.text)
		c.free()
	}
	p.end()
}

// stop waits until everything in the queue is compressed. It may be called again.
func (p *compressor) stop() error {
	if p.queue != nil {
		close(p.queue)
		p.queue = nil
	}
	<-p.done
	return p.err
}

// free returns p, which was never started or is stopped, to the pool.
func (p *compressor) free() {
	for _, c := range p.out {
		c.free()
	}
	p.out = p.out[:0]
	if p.err == nil {
		compressors.Put(p)
	}
}

// write compresses text.
func (p *compressor) write(text []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, text)
	p.size += len(text)
	_, _ = p.deflate.Write(text) // to p, which does not fail
}

// end completes the compressed data.
func (p *compressor) end() { _ = p.deflate.Close() }

// Write implements io.Writer for compressed data.
func (p *compressor) Write(data []byte) (int, error) {
	c := p.room()
	c.text = append(c.text, data...)
	p.zipped += len(data)
	p.sum.Write(data)
	return len(data), nil
}

// room returns the chunk for the next compressed data. A compressed chunk usually
// takes less than half of one.
func (p *compressor) room() *chunk {
	if n := len(p.out); n > 0 && len(p.out[n-1].text) < chunkSize/2 {
		return p.out[n-1]
	}
	c := chunks.Get().(*chunk)
	p.out = append(p.out, c)
	return c
}

// text returns the document that consists of head and the text that p has compressed.
//
// The document is one gzip member, because some clients read only the first member. The
// head is known last, so it becomes the first blocks of the member, uncompressed. The
// digest covers the compressed bytes: an entity tag identifies these, and they depend on
// the compressor as well as on the text.
func (p *compressor) text(head []byte) Text {
	t := Text{
		Size: len(head) + p.size,
		CRC:  virtualzip.JoinCRC(crc32.ChecksumIEEE(head), p.crc, int64(p.size)),
	}
	const (
		header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff" // RFC 1952: no name or time, fastest algorithm
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
	b = binary.LittleEndian.AppendUint32(b, t.CRC)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Size))
	p.sum.Write(b[len(b)-8:])
	t.Gzip = b
	p.sum.Sum(t.Sum[:0])
	return t
}
