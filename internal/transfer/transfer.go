// Package transfer sends large content over HTTP. It bounds how many transfers run at
// the same time, in all and to one client, and reads ahead of slow clients.
package transfer

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/client"
)

// maxRanges is the maximum number of ranges in one request. Each range opens the content
// again, and reads from the beginning if the content cannot seek.
const maxRanges = 16

var (
	// ErrBusy means that the maximum number of transfers is running.
	ErrBusy = errors.New("too many transfers are running")

	// ErrClient means that the maximum number of transfers to one client is running.
	ErrClient = errors.New("too many transfers to one client are running")
)

// A Limiter bounds transfers. It is safe for concurrent use.
type Limiter struct {
	places  admission.Limiter
	clients *client.Shares
	running atomic.Int64
}

// NewLimiter returns a Limiter of at most limit transfers, perClient of them to one
// client.
func NewLimiter(limit, perClient int) *Limiter {
	return &Limiter{places: admission.NewLimiter(limit), clients: client.NewShares(perClient)}
}

// Running returns the number of transfers that have started and not ended.
func (l *Limiter) Running() int { return int(l.running.Load()) }

// A Transfer is a request that counts against a Limiter.
type Transfer struct {
	limiter  *Limiter
	client   string
	started  bool
	unlisted bool
}

// Admit counts r among the requests of its client, or returns [ErrClient]. The caller
// must call End.
func (l *Limiter) Admit(r *http.Request) (*Transfer, error) {
	t := &Transfer{limiter: l, client: client.Of(r)}
	if !l.clients.Take(t.client) {
		return nil, ErrClient
	}
	return t, nil
}

// Start takes a place among all transfers, or returns [ErrBusy]. Content that no
// document lists has a share of the places; see package admission.
func (t *Transfer) Start(unlisted bool) error {
	if !t.limiter.places.TryAcquire(unlisted) {
		return ErrBusy
	}
	t.started, t.unlisted = true, unlisted
	t.limiter.running.Add(1)
	return nil
}

// End ends the transfer.
func (t *Transfer) End() {
	if t.started {
		t.limiter.running.Add(-1)
		t.limiter.places.Release(t.unlisted)
	}
	t.limiter.clients.Return(t.client)
}

// Serve answers r with content, or with the ranges of it that r requests, as
// [http.ServeContent] does, reading ahead. The caller sets the header fields.
func Serve(w http.ResponseWriter, r *http.Request, modified time.Time, content io.ReadSeeker) {
	http.ServeContent(&sender{w}, withFewRanges(r), "", modified, content)
}

// withFewRanges returns r without its ranges if there are too many. A server may ignore
// them and send everything (RFC 9110, section 14.2).
func withFewRanges(r *http.Request) *http.Request {
	if strings.Count(r.Header.Get("Range"), ",") < maxRanges {
		return r
	}
	all := r.WithContext(r.Context())
	all.Header = r.Header.Clone()
	all.Header.Del("Range")
	return all
}

// A sender sends what http.ServeContent copies.
type sender struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach the wrapped writer.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ReadFrom implements io.ReaderFrom, which io.Copy uses.
func (s *sender) ReadFrom(r io.Reader) (sent int64, err error) {
	ahead := prefetch(r)
	defer ahead.stop()
	for p := range ahead.full {
		if p.n > 0 {
			m, err := s.Write(p.buf[:p.n])
			sent += int64(m)
			if err != nil {
				return sent, err
			}
			if p.n < bufferSize && p.err == nil {
				// The content is slow, so send these bytes now. Some
				// writers cannot flush.
				_ = http.NewResponseController(s.ResponseWriter).Flush()
			}
		}
		ahead.empty <- p.buf
		if p.err != nil && p.err != io.EOF {
			return sent, p.err
		}
	}
	return sent, nil
}

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
