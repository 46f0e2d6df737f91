package sidecar

import (
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// uploadPause is the maximum pause of a client within a body.
	uploadPause = time.Minute

	// uploadLinger is the time for which the server discards the rest of a body that
	// the upstream did not read. If it closed the connection at once, the client
	// could get a reset before it has read the response.
	uploadLinger = 5 * time.Second
)

// An upload is the body of a request. The client may be slow, but it must make
// progress. The transport may read an upload until end returns, even after the
// upstream has answered.
type upload struct {
	body io.Reader
	c    *http.ResponseController

	mu      sync.Mutex
	idle    sync.Cond // reading is false
	reading bool
	eof     bool
	closed  bool
}

func newUpload(body io.Reader, c *http.ResponseController) *upload {
	u := &upload{body: body, c: c}
	u.idle.L = &u.mu
	return u
}

// Read implements [io.Reader].
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	switch {
	case u.closed:
		u.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	case u.eof:
		u.mu.Unlock()
		return 0, io.EOF
	}
	u.reading = true
	bounded := u.c.SetReadDeadline(time.Now().Add(uploadPause)) == nil
	u.mu.Unlock()

	n, err := u.body.Read(p)

	u.mu.Lock()
	defer u.mu.Unlock()
	u.reading = false
	u.eof = err == io.EOF
	if bounded {
		_ = u.c.SetReadDeadline(time.Time{}) // for data after the body
	}
	u.idle.Broadcast()
	return n, err
}

// Close implements [io.Closer]. It does not wait: the server closes the body itself
// after the handler has returned, and discards what remains.
func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return nil
}

// complete reports whether all of the body has been read. Otherwise the connection
// cannot carry another request.
func (u *upload) complete() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.eof
}

// end interrupts a running Read and waits for it. In full duplex, net/http panics if the
// body is read after the handler has returned.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.reading && u.c.SetReadDeadline(time.Unix(1, 0)) == nil {
		for u.reading {
			u.idle.Wait()
		}
	}
	if !u.eof {
		_ = u.c.SetReadDeadline(time.Now().Add(uploadLinger))
	}
}
