// Package reqbody limits the time that a handler waits for the body of a request, and
// refuses the methods that would have one.
//
// Before a net/http server sends a response, it reads the part of the body that the
// handler has not read. It has no deadline for that unless ReadTimeout is set, and
// that would abort slow uploads to the application. So a client that announces a body
// and sends none could hold a connection, and all resources of the handler, for ever.
package reqbody

import (
	"io"
	"net/http"
	"time"
)

const (
	discardBytes = 64 << 10
	discardTime  = 2 * time.Second
)

// Get prepares the response to a GET or HEAD request, as None does, and reports whether the
// handler should continue. It answers 405 to other methods.
func Get(w http.ResponseWriter, r *http.Request) bool {
	if !None(w, r) {
		return false
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "Only GET and HEAD are allowed here.", http.StatusMethodNotAllowed)
	return false
}

// None prepares the response to a request that should have no body. Handlers call it
// before they acquire resources. It discards a small body that arrives soon. Otherwise
// it reads no further, and the connection closes after the response.
//
// None reports whether the handler should continue. If it cannot discard the body of a
// GET or HEAD request, it answers the request itself; it leaves other methods to the
// handler.
func None(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if discard(w, r) {
		r.Body = http.NoBody
		return true
	}
	abandon(w, r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, "The body of the request is too long or did not arrive. Send GET and HEAD requests without a body.", http.StatusBadRequest)
	return false
}

// discard reads the body of r, and reports whether it has ended.
func discard(w http.ResponseWriter, r *http.Request) bool {
	c := http.NewResponseController(w)
	if r.ContentLength > discardBytes || c.SetReadDeadline(time.Now().Add(discardTime)) != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, discardBytes)); err != nil {
		return false
	}
	_ = c.SetReadDeadline(time.Time{}) // the first call succeeded
	return true
}

// Read returns the body of a request. If the body has more than limit bytes, it fails
// like [http.MaxBytesReader]; if the body does not arrive within timeout, it fails with
// the error of the connection. In both cases the connection closes after the response.
//
// The time-out works only with a ResponseWriter that supports
// [http.ResponseController.SetReadDeadline].
func Read(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	c := http.NewResponseController(w)
	bounded := c.SetReadDeadline(time.Now().Add(timeout)) == nil
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		abandon(w, r)
		return nil, err
	}
	if bounded {
		_ = c.SetReadDeadline(time.Time{})
	}
	r.Body = http.NoBody
	return b, nil
}

// abandon makes the server stop reading the body of r, and close the connection after
// the response. Over HTTP/2, it closes only the stream.
func abandon(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
	// A server without deadlines is not one of net/http, and has its own.
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	r.Body = http.NoBody
}
