package transfer

import (
	"io"
	"sync"
)

const (
	// bufferSize is the number of bytes in one read and one write. Passing a buffer
	// to another goroutine takes about as long as reading a small file.
	bufferSize = 192 << 10

	// buffersAhead is the number of buffers of a transfer, which are all its memory.
	// With two, reading and sending would wait for each other in turn.
	buffersAhead = 3
)

type buffer [bufferSize]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A prefetcher fills buffers while the client drains earlier ones: opening and reading a
// small file takes about as long as sending it.
type prefetcher struct {
	full  chan piece   // closed after the last
	empty chan *buffer // returned after sending
	done  chan struct{}
}

// A piece is the result of one Read.
type piece struct {
	buf *buffer
	n   int
	err error // of the last piece
}

// prefetch begins to read r. The caller must call stop, and must not use r before stop
// returns.
func prefetch(r io.Reader) *prefetcher {
	p := &prefetcher{make(chan piece, buffersAhead), make(chan *buffer, buffersAhead), make(chan struct{})}
	for range buffersAhead {
		p.empty <- buffers.Get().(*buffer)
	}
	go p.run(r)
	return p
}

func (p *prefetcher) run(r io.Reader) {
	defer close(p.full)
	for {
		var next piece
		select {
		case next.buf = <-p.empty:
		case <-p.done:
			return
		}
		next.n, next.err = r.Read(next.buf[:])
		select {
		case p.full <- next:
		case <-p.done:
			p.empty <- next.buf
			return
		}
		if next.err != nil {
			return
		}
	}
}

// stop ends reading, and waits for a Read in progress.
func (p *prefetcher) stop() {
	close(p.done)
	for next := range p.full {
		p.empty <- next.buf
	}
	close(p.empty)
	for buf := range p.empty {
		buffers.Put(buf)
	}
}
