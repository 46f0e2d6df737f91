package main

import (
	"io"
	"math"
	"net"
	"time"
)

// partSize is how many bytes are given a time limit of their own.
const partSize = 256 << 10

// A patientListener accepts connections that fail when the other end does not
// accept partSize bytes within patience. http.Server knows only limits to the
// time of whole answers, which would cut off large files on slow lines.
type patientListener struct {
	net.Listener
	patience time.Duration
}

func (l patientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &patientConn{c.(*net.TCPConn), l.patience}, nil
}

// A patientConn renews its time limit for writing with every part.
type patientConn struct {
	tcpConn
	patience time.Duration
}

// tcpConn is what a *net.TCPConn is used for: its ReadFrom has the operating
// system send files by itself.
type tcpConn interface {
	net.Conn
	io.ReaderFrom
	CloseWrite() error
}

func (c *patientConn) renew() { c.SetWriteDeadline(time.Now().Add(c.patience)) }

func (c *patientConn) Write(p []byte) (n int, err error) {
	for {
		c.renew()
		part := p[n:min(n+partSize, len(p))]
		m, err := c.tcpConn.Write(part)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *patientConn) ReadFrom(r io.Reader) (n int64, err error) {
	// One LimitedReader around a file is looked through, and no more than one.
	whole, ok := r.(*io.LimitedReader)
	if !ok {
		whole = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for whole.N > 0 {
		c.renew()
		part := io.LimitedReader{R: whole.R, N: min(whole.N, partSize)}
		m, err := c.tcpConn.ReadFrom(&part)
		n += m
		whole.N -= m
		if err != nil || part.N > 0 {
			return n, err
		}
	}
	return n, nil
}
