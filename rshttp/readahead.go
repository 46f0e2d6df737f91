package rshttp

import "io"

// readingAhead is how many buffers a transfer has: all the memory that it takes for
// itself. With two, who reads and who sends wait for each other in turn.
const readingAhead = 3

// An ahead reads ahead of who takes what it has read.
type ahead struct {
	size  int                    // of pieces, but for those that had to wait for more
	full  chan piece             // closed behind the last
	empty chan *[sendBuffer]byte // where buffers go back to
	done  chan struct{}
}

// A piece is what has been read at once.
type piece struct {
	buf *[sendBuffer]byte
	n   int
	err error // after which there is no more
}

// readAhead begins to read r in pieces of size. The caller calls end, and does not
// touch r before that.
func readAhead(r io.Reader, size int64) *ahead {
	a := &ahead{int(size), make(chan piece, readingAhead), make(chan *[sendBuffer]byte, readingAhead), make(chan struct{})}
	for range readingAhead {
		a.empty <- sendBuffers.Get().(*[sendBuffer]byte)
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
		p.n, p.err = r.Read(p.buf[:a.size])
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

// end ends reading, and waits for a Read that is under way.
func (a *ahead) end() {
	close(a.done)
	for p := range a.full {
		a.empty <- p.buf
	}
	close(a.empty)
	for buf := range a.empty {
		sendBuffers.Put(buf)
	}
}
