// Package server serves HTTP and HTTPS to the public: it bounds the time for which clients can
// make it wait, and takes their addresses from a proxy in front.
package server

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

const (
	// shutdownTimeout bounds the requests that are running when the program stops.
	shutdownTimeout = 5 * time.Second

	// writeTimeout bounds the time in which a client accepts a chunk of an answer.
	writeTimeout = 2 * time.Minute

	// readTimeout bounds the time in which a whole request arrives. Without uploads,
	// none takes longer.
	readTimeout = time.Minute

	// maxHeader is the maximum size of a request's header in bytes. It bounds the
	// memory of a connection. The URLs of documents are far shorter.
	maxHeader = 32 << 10
)

type Server struct {
	Listener    net.Listener
	Handler     http.Handler
	Certificate *Certificate // nil for http
	Uploads     bool         // the handler bounds the bodies of requests
}

// Run serves until ctx is done, and then waits for the running requests.
//
// A response has no time limit, because files may be large and lines slow. The
// deadlineListener ends responses that make no progress.
func (s *Server) Run(ctx context.Context, log *slog.Logger) error {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       readTimeout,
		MaxHeaderBytes:    maxHeader,
		// The handler of net/http for OPTIONS * waits for bodies, and a website may
		// have its own answer.
		DisableGeneralOptionsHandler: true,

		IdleTimeout: 2 * time.Minute,
		ErrorLog:    slog.NewLogLogger(sparse.Handler(log.Handler()), slog.LevelWarn),
	}
	if s.Uploads {
		server.ReadTimeout = 0
	}
	listener := deadlineListener{s.Listener, writeTimeout}
	failed := make(chan error, 1)
	go func() {
		if s.Certificate == nil {
			failed <- server.Serve(listener)
			return
		}
		server.TLSConfig = &tls.Config{GetCertificate: s.Certificate.get}
		failed <- server.ServeTLS(listener, "", "")
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		log.Warn("requests were aborted because they did not end in time")
		server.Close()
	}
	return nil
}

// RunWhile serves while use runs. The context of use ends when the server fails.
func (s *Server) RunWhile(ctx context.Context, log *slog.Logger, use func(context.Context) error) error {
	using, end := context.WithCancel(ctx)
	defer end()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		failed = s.Run(serving, log)
		end()
	})
	err := use(using)
	stop()
	running.Wait()
	if err == nil {
		err = failed
	}
	return err
}

// chunkSize is the number of bytes that each write deadline covers.
const chunkSize = 256 << 10

// A deadlineListener accepts connections whose writes fail when the other end does not
// accept chunkSize bytes within the timeout. The WriteTimeout of http.Server limits
// whole responses, which would cut off large files on slow lines.
type deadlineListener struct {
	net.Listener
	timeout time.Duration
}

func (l deadlineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &deadlineConn{c.(*net.TCPConn), l.timeout}, nil
}

// A deadlineConn renews its write deadline for each chunk.
type deadlineConn struct {
	tcpConn
	timeout time.Duration
}

// tcpConn has the methods of *net.TCPConn that are used. With ReadFrom, the operating
// system copies files to the connection (sendfile).
type tcpConn interface {
	net.Conn
	io.ReaderFrom
	CloseWrite() error
}

func (c *deadlineConn) renew() { c.SetWriteDeadline(time.Now().Add(c.timeout)) }

func (c *deadlineConn) Write(p []byte) (n int, err error) {
	for {
		c.renew()
		chunk := p[n:min(n+chunkSize, len(p))]
		m, err := c.tcpConn.Write(chunk)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *deadlineConn) ReadFrom(r io.Reader) (n int64, err error) {
	// *net.TCPConn recognizes a file in a LimitedReader, but not in two of them.
	whole, ok := r.(*io.LimitedReader)
	if !ok {
		whole = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for whole.N > 0 {
		c.renew()
		chunk := io.LimitedReader{R: whole.R, N: min(whole.N, chunkSize)}
		m, err := c.tcpConn.ReadFrom(&chunk)
		n += m
		whole.N -= m
		if err != nil || chunk.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// ClientAddress sets the remote address of a request to the last address in a header,
// which the proxy in front has added. Limits for clients use that address.
func ClientAddress(header string, next http.Handler) http.Handler {
	if header == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a, ok := lastAddress(r.Header[header]); ok {
			r.RemoteAddr = net.JoinHostPort(a.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

// token is the name of a header (RFC 9110, section 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func CheckClientHeader(name string) error {
	switch {
	case name != "" && !token.MatchString(name):
		return settings.Fault("client-header", "give the name of a header, such as X-Forwarded-For")
	case strings.EqualFold(name, "Forwarded"):
		return settings.Fault("client-header", "its addresses have a syntax of their own; let the proxy set X-Forwarded-For or X-Real-IP")
	}
	return nil
}

func lastAddress(values []string) (a netip.Addr, ok bool) {
	if len(values) == 0 {
		return a, false
	}
	last := values[len(values)-1]
	last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	if ap, err := netip.ParseAddrPort(last); err == nil {
		return ap.Addr(), true
	}
	a, err := netip.ParseAddr(strings.Trim(last, "[]"))
	return a, err == nil
}
