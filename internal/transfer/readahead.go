package transfer

import (
	"io"
	"sync"
)

const (
	// bufferSize is how many bytes are read and written at once. Handing a buffer
	// to another goroutine takes about as long as reading a small file.
	bufferSize = 192 << 10

	// buffersAhead is how many buffers a transfer has, which is all its memory. With
	// two, reading and sending would wait for each other in turn.
	buffersAhead = 3
)

type buffer [bufferSize]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// An ahead fills buffers while the client drains earlier ones: opening and reading a
// small file takes about as long as sending it.
type ahead struct {
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

// readAhead begins to read r. The caller calls stop, and does not use r before that.
func readAhead(r io.Reader) *ahead {
	a := &ahead{make(chan piece, buffersAhead), make(chan *buffer, buffersAhead), make(chan struct{})}
	for range buffersAhead {
		a.empty <- buffers.Get().(*buffer)
	}
	go a.run(r)
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.full)
	for {
		var p piece
		select {
		case p.buf = <-a.empty:
		case <-a.done:
			return
		}
		p.n, p.err = r.Read(p.buf[:])
		select {
		case a.full <- p:
		case <-a.done:
			a.empty <- p.buf
			return
		}
		if p.err != nil {
			return
		}
	}
}

// stop ends reading, and waits for a Read in progress.
func (a *ahead) stop() {
	close(a.done)
	for p := range a.full {
		a.empty <- p.buf
	}
	close(a.empty)
	for buf := range a.empty {
		buffers.Put(buf)
	}
}
