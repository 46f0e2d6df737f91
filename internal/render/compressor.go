package render

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/flate"
)

// A compressor compresses pieces one after the other.
type compressor struct {
	deflate *flate.Writer
	sum     hash.Hash // of the compressed bytes of piece
	piece   *piece    // being compressed
	out     []*chunk  // compressed bytes of all pieces
}

var compressors = sync.Pool{New: func() any {
	c := &compressor{sum: sha256.New()}
	c.deflate, _ = flate.NewWriter(c, flate.BestSpeed) // fails for unknown levels only
	return c
}}

func getCompressor() *compressor { return compressors.Get().(*compressor) }

// compress compresses the text of p. Only a whole document has a final block.
func (c *compressor) compress(p *piece, text []byte, whole bool) {
	c.piece = p
	c.sum.Reset()
	c.deflate.Reset(c)
	_, _ = c.deflate.Write(text) // to c, which does not fail
	if whole {
		_ = c.deflate.Close()
	} else {
		_ = c.deflate.Flush()
	}
	p.Size, p.crc = len(text), checksum(text)
	c.sum.Sum(p.sum[:0])
	c.piece = nil
}

func checksum(text []byte) uint32 { return crc32.ChecksumIEEE(text) }

// Write implements io.Writer for compressed data.
func (c *compressor) Write(data []byte) (int, error) {
	out := c.room(len(data))
	begin := len(out.text)
	out.text = append(out.text, data...)
	c.piece.zipped = append(c.piece.zipped, out.text[begin:])
	c.sum.Write(data)
	return len(data), nil
}

// room returns a chunk with room for n bytes: earlier pieces keep slices of it.
func (c *compressor) room(n int) *chunk {
	if last := len(c.out) - 1; last >= 0 && cap(c.out[last].text)-len(c.out[last].text) >= n {
		return c.out[last]
	}
	out := chunks.Get().(*chunk)
	c.out = append(c.out, out)
	return out
}

// free returns c to the pool. The pieces that it has compressed must not be used any
// more.
func (c *compressor) free() {
	for _, out := range c.out {
		out.free()
	}
	c.out = c.out[:0]
	compressors.Put(c)
}

// queued is how many pieces may wait for a compressor.
const queued = 4

// A press compresses the pieces of a document in one goroutine. A second one was not
// faster: the first shares the cores with the goroutine that reads the entries.
type press struct {
	compressor *compressor
	queue      chan<- *piece // nil once stopped
	done       chan struct{}
	err        error // once done
}

// startPress returns a press whose goroutine runs until it is stopped.
func startPress() *press {
	queue := make(chan *piece, queued)
	p := &press{compressor: getCompressor(), queue: queue, done: make(chan struct{})}
	go p.run(queue)
	return p
}

func (p *press) run(queue <-chan *piece) {
	defer close(p.done)
	defer func() {
		if v := recover(); v != nil {
			p.err = fmt.Errorf("compressing: panic: %v\n%s", v, debug.Stack())
			for range queue { // otherwise a sender would block for ever
			}
		}
	}()
	for one := range queue {
		p.compressor.compress(one, one.text.text, false)
		one.text.free()
		one.text = nil
	}
}

// stop waits until all pieces in the queue are compressed. It may be called again.
func (p *press) stop() error {
	if p.queue != nil {
		close(p.queue)
		p.queue = nil
	}
	<-p.done
	return p.err
}

// free releases the buffers of p, which is stopped.
func (p *press) free() {
	if p.err == nil { // otherwise the compressor is broken
		p.compressor.free()
	}
}
