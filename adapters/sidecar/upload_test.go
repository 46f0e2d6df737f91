package sidecar_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// earlyWebsite answers 413 as soon as it has the header of a request, reads the body
// afterwards, and returns its URL.
func earlyWebsite(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go answerEarly(conn)
		}
	}()
	return "http://" + ln.Addr().String()
}

// answerEarly is earlyWebsite for one connection.
func answerEarly(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge")
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
	}
}

// TestUploadAnsweredEarly: a connection with an unread body is not used again. If it were, the server would panic because
// it would read the next request while it discards that body.
func TestUploadAnsweredEarly(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	server := httptest.NewUnstartedServer(newProxy(t, earlyWebsite(t), nil))
	server.Config.ErrorLog = log.New(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}), "", 0)
	server.Start()
	defer server.Close()

	body := strings.Repeat("x", 1<<20)
	var refused, closed int
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				res, err := server.Client().Post(server.URL, "text/plain", strings.NewReader(body))
				mu.Lock()
				switch {
				case err != nil:
					closed++
				case res.StatusCode == http.StatusRequestEntityTooLarge:
					refused++
				default:
					t.Error(res.Status)
				}
				mu.Unlock()
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if logged.Len() > 0 {
		t.Errorf("the server logs:\n%.3000s", &logged)
	}
	if refused == 0 {
		t.Error("no client gets the response")
	}
	t.Logf("%d responses, %d closed connections", refused, closed)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestUploadConnection: a connection is kept if the whole body was read, and
// closed if the client sends no more of it.
func TestUploadConnection(t *testing.T) {
	read := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(read.Close)
	early := earlyWebsite(t)
	for _, tt := range []struct {
		name, upstream, request string
		close                   bool
	}{
		{"complete", read.URL, "Content-Length: 5\r\n\r\nhello", false},
		{"complete, chunked", read.URL, "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false},
		{"partial, large", early, "Content-Length: 1000000\r\n\r\npart", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", startProxy(t, tt.upstream))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(needs.Patience))
			checkUpload(t, conn, tt.request, tt.close)
		})
	}
}

// TestUploadLinger: the connection of a client that sends no more of a body is closed in time.
func TestUploadLinger(t *testing.T) {
	for name, request := range map[string]string{
		"partial": "Content-Length: 1000\r\n\r\npart",
		"large":   "Content-Length: 1000000\r\n\r\npart",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := dialProxy(t, answerEarly)
				began := time.Now()
				checkUpload(t, client, request, true)
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("the connection is closed after %v", took)
				}
			})
		})
	}
}

// TestUploadPause: the proxy closes the connection of a client that has sent nothing for a minute, although the body is
// incomplete and the website waits for the rest.
func TestUploadPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dialProxy(t, func(conn net.Conn) {
			defer conn.Close()
			_, _ = io.Copy(io.Discard, conn)
		})
		began := time.Now()
		_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: site.example\r\nContent-Length: 1000\r\n\r\npart")
		if text, err := io.ReadAll(client); len(text) > 0 || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if took := time.Since(began); took < time.Minute || took > 66*time.Second {
			t.Errorf("the connection is closed after %v", took)
		}
	})
}

// dialProxy connects to a proxy without a network. website serves the connections to its upstream.
func dialProxy(t *testing.T, website func(net.Conn)) net.Conn {
	t.Helper()
	transport := sidecar.NewTransport("http://upstream.example", "http://site.example/")
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go website(theirs)
		return ours, nil
	}
	client, accepted := net.Pipe()
	ln := &pipeListener{conns: make(chan net.Conn, 1)}
	ln.conns <- accepted
	server := &http.Server{Handler: newProxy(t, "http://upstream.example", &sidecar.ProxyOptions{Transport: transport})}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() {
		server.Close()
		client.Close()
		transport.CloseIdleConnections()
	})
	return client
}

// A pipeListener accepts connections without a network, which need no address, in a bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.conns) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// checkUpload uploads over conn, and checks whether the proxy closes it after the response.
func checkUpload(t *testing.T, conn net.Conn, request string, closes bool) {
	t.Helper()
	br := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: site.example\r\n"+request)
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if res.Close != closes {
		t.Errorf("Connection: close is %v, want %v", res.Close, closes)
	}
	if !closes {
		return
	}
	if n, err := io.Copy(io.Discard, br); n > 0 || err != nil {
		t.Errorf("%d bytes after the response, %v", n, err)
	}
}
