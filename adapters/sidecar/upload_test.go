package sidecar_test

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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
			go func() {
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
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// TestUploadAnsweredEarly: the server never reads a body together with the transport,
// and a connection with an unread body is not used again.
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
// closed in time if the client sends no more of it.
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
		{"partial", early, "Content-Length: 1000\r\n\r\npart", true},
		{"partial, large", early, "Content-Length: 1000000\r\n\r\npart", true},
		{"partial, chunked", early, "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", startProxy(t, tt.upstream))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(needs.Patience))
			br := bufio.NewReader(conn)
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: site.example\r\n"+tt.request)
			res, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if res.Close != tt.close {
				t.Errorf("Connection: close is %v, want %v", res.Close, tt.close)
			}
			if !tt.close {
				return
			}
			if n, err := io.Copy(io.Discard, br); n > 0 || err != nil {
				t.Errorf("%d bytes after the response, %v", n, err)
			}
		})
	}
}
