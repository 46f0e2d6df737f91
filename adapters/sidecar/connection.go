package sidecar

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// A finalWriter corrects the behaviour of [net/http/httputil.ReverseProxy] and net/http
// in four ways. It keeps preset headers for the final response, even after
// informational responses; links to Capability Lists only if that has the resource or
// says that it has not changed. It does not add a Content-Type to a response without one. It
// closes the connection if the response precedes the end of the request. It does not
// repeat the 100 (Continue) that the server sends by itself.
type finalWriter struct {
	http.ResponseWriter
	preset []presetHeader
	space  [2]presetHeader // avoids allocations: preset is rarely more than a Link header
	wrote  bool            // the header of the final response
	reads  bool            // the request is a GET or HEAD

	upload    *upload // the body of the request, or nil
	closable  bool    // a response can close the connection, as in HTTP/1
	continues bool    // the server sends 100 (Continue) when the body is read
}

type presetHeader struct {
	name   string
	values []string
}

func newFinalWriter(w http.ResponseWriter, method string) *finalWriter {
	f := &finalWriter{ResponseWriter: w, reads: method == http.MethodGet || method == http.MethodHead}
	if h := w.Header(); len(h) > 0 {
		f.preset = f.space[:0]
		for name, values := range h {
			f.preset = append(f.preset, presetHeader{name, values})
		}
		clear(h)
	}
	return f
}

// WriteHeader implements [http.ResponseWriter].
func (f *finalWriter) WriteHeader(status int) {
	if status == http.StatusContinue && f.continues {
		// The transport reads the body as soon as the upstream sends this status.
		return
	}
	if status >= 200 {
		f.wrote = true
		h := f.Header()
		for _, p := range f.preset {
			if p.name == "Link" && !(f.reads && isOfResource(status)) {
				p.values = withoutCapabilityLists(p.values)
			}
			if len(p.values) == 0 {
				continue
			}
			h[p.name] = append(p.values[:len(p.values):len(p.values)], h[p.name]...)
		}
		f.preset = nil
		if _, ok := h["Content-Type"]; !ok {
			h["Content-Type"] = nil
		}
		if f.closable && !f.upload.complete() {
			h.Set("Connection", "close")
		}
	}
	f.ResponseWriter.WriteHeader(status)
}

// isOfResource reports whether the response with a status is one of the resource itself.
func isOfResource(status int) bool {
	return status == http.StatusOK || status == http.StatusPartialContent || status == http.StatusNotModified
}

// withoutCapabilityLists returns the values of a Link header that have no link to a Capability
// List.
func withoutCapabilityLists(values []string) (others []string) {
	for _, value := range values {
		of := false
		for range linkheader.Find(linkheader.Parse(value), resourcesync.RelResourceSync) {
			of = true
		}
		if !of {
			others = append(others, value)
		}
	}
	return others
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (f *finalWriter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Hijack implements [http.Hijacker]. ReverseProxy reads from the connection only, and
// would lose buffered bytes of the client.
func (f *finalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if f.upload != nil {
		f.upload.end() // otherwise it would read from the tunnel
	}
	conn, rw, err := http.NewResponseController(f.ResponseWriter).Hijack()
	if err == nil && rw.Reader.Buffered() > 0 {
		conn = &earlyConn{conn, io.MultiReader(io.LimitReader(rw.Reader, int64(rw.Reader.Buffered())), conn)}
	}
	return conn, rw, err
}

// An earlyConn is a connection whose first bytes are already buffered.
type earlyConn struct {
	net.Conn
	r io.Reader
}

// Read implements [io.Reader].
func (c *earlyConn) Read(p []byte) (int, error) { return c.r.Read(p) }

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

// end interrupts a running Read and waits for it. Otherwise that Read would remove the deadline for the rest of the
// body, and a client that sends nothing more would keep the connection open.
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
