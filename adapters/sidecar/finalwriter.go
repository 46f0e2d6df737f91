package sidecar

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// A finalWriter corrects the behaviour of [net/http/httputil.ReverseProxy] and net/http
// in three ways. It keeps preset headers for the final response, even after
// informational responses. It does not add a Content-Type to a response without one. It
// closes the connection if the response precedes the end of the request.
type finalWriter struct {
	http.ResponseWriter
	preset []presetHeader
	space  [2]presetHeader // avoids allocations: preset is rarely more than a Link header
	wrote  bool            // the header of the final response

	upload   *upload // the body of the request, or nil
	closable bool    // a response can close the connection, as in HTTP/1
}

type presetHeader struct {
	name   string
	values []string
}

func newFinalWriter(w http.ResponseWriter) *finalWriter {
	f := &finalWriter{ResponseWriter: w}
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
	if status >= 200 {
		f.wrote = true
		h := f.Header()
		for _, p := range f.preset {
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
