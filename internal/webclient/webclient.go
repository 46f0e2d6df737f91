// Package webclient has the common parts of clients of websites: bodies that do not stall,
// pauses that servers ask for, and text that can be compressed.
package webclient

import (
	"bufio"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync/internal/retry"
)

// minProgress is the number of bytes that a server must send in each idle time. One byte a
// minute would hold up a client forever.
const minProgress = 4 << 10

// A body is the body of a response. Reading fails if waiting for minProgress bytes takes longer
// than idle.
type body struct {
	io.ReadCloser
	idle     time.Duration
	watchdog *time.Timer
	release  func()

	waited   time.Duration // for the next minProgress bytes
	received int           // of them
}

// NewBody returns the body of a response. If the server sends nothing, or next to nothing, for
// idle while the body is read, cancel is called, which must make reading fail. Closing the body
// calls release, once.
func NewBody(r io.ReadCloser, idle time.Duration, cancel, release func()) io.ReadCloser {
	return &body{ReadCloser: r, idle: idle, watchdog: time.AfterFunc(idle, cancel), release: sync.OnceFunc(release)}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	begun := time.Now()
	b.watchdog.Reset(b.idle - b.waited)
	n, err := b.ReadCloser.Read(p)
	b.watchdog.Stop()
	b.waited += time.Since(begun)
	if b.received += n; b.received >= minProgress {
		b.waited, b.received = 0, 0
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.watchdog.Stop()
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// A Pause is the time until which a server wants no requests (Retry-After). The zero value has
// none. It is safe for concurrent use.
type Pause struct {
	mu    sync.Mutex
	until time.Time
}

// Record records the pause that a response asks for, if its status is 429 or 503. It lasts no
// longer than max.
func (p *Pause) Record(res *http.Response, max time.Duration) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	if asked := retry.After(res.Header, now); asked > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.until = now.Add(min(asked, max))
	}
}

// Extend makes the pause last until a time, or longer if it does.
func (p *Pause) Extend(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until = until
	}
}

// Rest returns how long the pause still lasts. It is not positive if it is over.
func (p *Pause) Rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.until)
}

// Text returns the text of r, decompressed if it is gzip. The first bytes decide: files named
// .xml.gz have no Content-Encoding. Reading more than limit bytes fails with tooLong.
func Text(r io.Reader, limit int64, tooLong error) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	begin, err := br.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var text io.Reader = br
	if len(begin) == 2 && begin[0] == 0x1f && begin[1] == 0x8b {
		if text, err = gzip.NewReader(br); err != nil {
			return nil, err
		}
	}
	return Limit(text, limit, tooLong), nil
}

// Limit is like io.LimitReader, but reading more than limit bytes fails with tooLong.
func Limit(r io.Reader, limit int64, tooLong error) io.Reader {
	return &limited{r, limit, tooLong}
}

// limited is the reader of Limit.
type limited struct {
	r       io.Reader
	left    int64
	tooLong error
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.tooLong
	}
	return n, err
}
