package hub

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Frames of HTTP/2 (RFC 9113, section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7

	flagAck        = 1 // of SETTINGS and PING
	flagEndStream  = 1
	flagEndHeaders = 4

	refusedStream = 7
)

// A frameServer is a callback over HTTP/2 that behaves as a server of net/http would
// not.
type frameServer struct {
	url    string
	answer func(c *frameConn, n int, stream uint32) // to the n-th request, from 1

	mu     sync.Mutex
	bodies []string
	conns  int
}

type frameConn struct {
	net.Conn
	t *testing.T
}

func (c *frameConn) frame(kind, flags byte, stream uint32, payload ...byte) {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)), flags)
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...)); err != nil && !errors.Is(err, net.ErrClosed) {
		c.t.Error(err)
	}
}

func (c *frameConn) taken(stream uint32) {
	c.frame(frameHeaders, flagEndStream|flagEndHeaders, stream, 0x80|9) // :status: 204 of the static table
}

func (c *frameConn) refuse(stream uint32) {
	c.frame(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, refusedStream)...)
}

func (c *frameConn) goAway(last uint32) {
	c.frame(frameGoAway, 0, 0, binary.BigEndian.AppendUint64(nil, uint64(last)<<32)...) // NO_ERROR
}

func newFrameServer(t *testing.T, cert tls.Certificate, answer func(c *frameConn, n int, stream uint32)) *frameServer {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &frameServer{url: "https://" + l.Addr().String() + "/", answer: answer}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { l.Close() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			t.Cleanup(func() { conn.Close() })
			go s.serve(&frameConn{conn, t})
		}
	})
	return s
}

func (s *frameServer) serve(c *frameConn) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	c.frame(frameSettings, 0, 0)
	bodies := map[uint32]string{}
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case (kind == frameSettings || kind == framePing) && flags&flagAck == 0:
			if kind == frameSettings {
				payload = nil
			}
			c.frame(kind, flagAck, 0, payload...)
		case kind == frameData || kind == frameHeaders:
			if kind == frameData {
				bodies[stream] += string(payload)
			}
			if flags&flagEndStream != 0 {
				s.mu.Lock()
				s.bodies = append(s.bodies, bodies[stream])
				n := len(s.bodies)
				s.mu.Unlock()
				s.answer(c, n, stream)
			}
		}
	}
}

// A deadEnd passes connections on until it is told to swallow all further data of the
// existing ones.
type deadEnd struct {
	net.Listener
	mu   sync.Mutex
	dead *atomic.Bool // for connections that are made now
}

func newDeadEnd(t *testing.T, to string) *deadEnd {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &deadEnd{Listener: l, dead: new(atomic.Bool)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { from.Close(); server.Close() })
			d.mu.Lock()
			dead := d.dead
			d.mu.Unlock()
			go pass(server, from, dead)
			go pass(from, server, dead)
		}
	}()
	return d
}

func pass(to io.Writer, from io.Reader, dead *atomic.Bool) {
	for block := make([]byte, 4<<10); ; {
		n, err := from.Read(block)
		if err != nil {
			return
		}
		if !dead.Load() {
			to.Write(block[:n])
		}
	}
}

func (d *deadEnd) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead.Store(true)
	d.dead = new(atomic.Bool)
}
