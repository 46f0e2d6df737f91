package hub

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

// V11: the hub does not accept notifications from outside, in any form.
func TestV11_Posted(t *testing.T) {
	f := newFront(t, Options{})
	n := example(t)
	for _, authorization := range []string{"Bearer ", "Bearer", "Bearer t0ken", ""} {
		r, err := http.NewRequest(http.MethodPost, f.url, bytes.NewReader(n.Body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/xml")
		r.Header.Set("Link", "<"+testTopic+`>; rel="self", <`+testHub+`>; rel="hub"`)
		r.Header.Set("Authorization", authorization)
		if status, text := f.do(r); status != 403 || !strings.Contains(text, "its own Source") {
			t.Errorf("%q: %d %s", authorization, status, text)
		}
	}
	if found, err := f.store.Read(t.Context(), testTopic, 0, 1, 0); err != nil || len(found) != 0 {
		t.Errorf("published: %+v, %v", found, err)
	}
}

// V12: the hub fetches nothing on request.
func TestV12_Ping(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	for _, params := range [][]string{{"hub.mode", "publish", "hub.url", s.URL}, {"hub.mode", "publish", "hub.topic", s.URL}, {"hub.mode", "publish"}} {
		if status, text := f.post(s.URL, params...); status != 400 || !strings.Contains(text, "its own Source") {
			t.Errorf("%v: %d %s", params, status, text)
		}
	}
	if got := s.requests(); len(got) != 0 {
		t.Errorf("fetched %q", got)
	}
}

// pipes is a net.Listener of connections in memory, whose deadlines also work in a
// synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// V16: a body that never arrives occupies a connection for a bounded time, although the
// server has no time-outs.
func TestV16_SlowBodies(t *testing.T) {
	for name, c := range map[string]struct {
		mediaType, status string
	}{
		"form":         {"application/x-www-form-urlencoded", "400"},
		"notification": {"application/xml", "403"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := New(testHub, logtest.Seal(pushlog.NewMemory()), nil)
				if err != nil {
					t.Fatal(err)
				}
				h.Register(testTopic)
				listener, server := make(pipes, 1), &http.Server{Handler: h, ErrorLog: discardLog}
				ended := make(chan error)
				go func() { ended <- server.Serve(listener) }()
				near, far := net.Pipe()
				listener <- far
				before := time.Now()
				go near.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nContent-Type: " + c.mediaType + "\r\n\r\nhub.mode"))
				answer := make([]byte, 100)
				n, err := near.Read(answer)
				if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 "+c.status)) {
					t.Errorf("%q, %v", answer[:n], err)
				}
				if took := time.Since(before); took > formTime {
					t.Errorf("it took %v", took)
				}
				near.Close()
				close(listener)
				server.Close()
				<-ended
			})
		})
	}
}
