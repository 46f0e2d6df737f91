package main

import (
	"io"
	"math"
	"net"
	"time"
)

// chunkSize is the number of bytes that each write deadline covers.
const chunkSize = 256 << 10

// A deadlineListener accepts connections whose writes fail when the other end does not
// accept chunkSize bytes within the timeout. The WriteTimeout of http.Server limits
// whole answers, which would cut off large files on slow lines.
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
