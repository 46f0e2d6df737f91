// Package reqbody bounds how long a handler waits for the body of a request.
//
// A net/http server reads the rest of a body that a handler has not read before it
// sends the answer. It has no deadline for that unless ReadTimeout is set, which
// would cut off the uploads of a host. So a client that announces a body and sends
// none holds a connection, and whatever the handler holds, for as long as it likes.
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

// None prepares the answer to a request that should have no body. Handlers call it
// before they acquire anything. It discards a small body that arrives soon;
// otherwise nothing more is read, and the connection closes after the answer.
//
// None reports whether the handler should go on. It answers GET and HEAD requests
// whose body it could not discard, and leaves other methods to the handler.
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
	_ = c.SetReadDeadline(time.Time{}) // which it could a moment ago
	return true
}

// Read returns the body of a request, which should have at most limit bytes and
// arrive within timeout. Otherwise it fails as an [http.MaxBytesReader] does, or as
// the connection does, and the connection closes after the answer.
//
// The time-out needs a ResponseWriter that leads to one of net/http.
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

// abandon has the server read no more of the body of r, and close the connection
// after the answer. Of an HTTP/2 connection it is only the stream.
func abandon(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
	// A server without deadlines is not one of net/http, and has its own.
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	r.Body = http.NoBody
}
