package websocket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	rswebsocket "github.com/resourcesync-go/resourcesync/topic/websocket"
)

const (
	changes = "https://example.org/resourcesync/papers/change/"
	others  = "https://example.org/resourcesync/books/change/"
)

// A site is a WebSocket server of the topics in a log, at a real address.
type site struct {
	t      *testing.T
	log    *brittleLog
	server *rswebsocket.Server
	http   *httptest.Server
	stop   func()
}

// A brittleLog cannot be read while it is broken.
type brittleLog struct {
	pushlog.Log
	broken atomic.Bool
}

func (l *brittleLog) State(ctx context.Context, uri string) (pushlog.State, error) {
	if l.broken.Load() {
		return pushlog.State{}, errors.New("no disk")
	}
	return l.Log.State(ctx, uri)
}

func newSite(t *testing.T, opts *rswebsocket.Options) *site {
	s := &site{t: t, log: &brittleLog{Log: pushlog.NewMemory()}}
	var err error
	if s.server, err = rswebsocket.New(opts); err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.server.ServeTopic(w, r, "https://example.org/resourcesync"+r.URL.Path)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server.Run(ctx, logtest.Seal(s.log)) }()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
	t.Cleanup(func() {
		s.stop()
		s.http.Close()
	})
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if resp, err := http.Get(s.http.URL); err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				return s // Run has begun
			}
		}
	}
	t.Fatal("Run does not begin")
	return nil
}

// notify appends a notification to the log.
func (s *site) notify(uri, body string) {
	s.t.Helper()
	ctx := s.t.Context()
	before, err := s.log.State(ctx, uri)
	if err != nil {
		s.t.Fatal(err)
	}
	next := before
	next.Number++
	if err := s.log.Append(ctx, pushlog.Notification{Topic: uri, Body: []byte(body)}, before, next); err != nil {
		s.t.Fatal(err)
	}
}

// dial connects to a topic.
func (s *site) dial(uri string) *websocket.Conn {
	s.t.Helper()
	conn, resp, err := s.tryDial(uri, nil)
	if err != nil {
		s.t.Fatal(err, resp)
	}
	s.t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func (s *site) tryDial(uri string, opts *websocket.DialOptions) (*websocket.Conn, *http.Response, error) {
	path := strings.TrimPrefix(uri, "https://example.org/resourcesync")
	return websocket.Dial(s.t.Context(), s.http.URL+path, opts)
}

// clients waits until n clients are connected.
func (s *site) clients(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(needs.Patience); s.server.Clients() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d clients are connected, not %d", s.server.Clients(), n)
		}
	}
}

// read reads one message, which must be of type text.
func (s *site) read(conn *websocket.Conn) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), needs.Patience)
	defer cancel()
	kind, body, err := conn.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		s.t.Fatal(kind, err)
	}
	return string(body)
}

func TestEveryClientHasEveryNotification(t *testing.T) {
	s := newSite(t, nil)
	s.notify(changes, "before anybody came")
	one, two, other := s.dial(changes), s.dial(changes), s.dial(others)
	const n = 200 // more than is kept for all
	for i := range n {
		s.notify(changes, fmt.Sprint("change ", i))
	}
	s.notify(others, "another topic")
	for i := range n {
		want := fmt.Sprint("change ", i)
		if got := s.read(one); got != want {
			t.Fatalf("the first client got %q, not %q", got, want)
		}
		if got := s.read(two); got != want {
			t.Fatalf("the second client got %q, not %q", got, want)
		}
	}
	if got := s.read(other); got != "another topic" {
		t.Errorf("the client of the other topic got %q", got)
	}
}

func TestClientThatComesBackGoesOnWithTheNext(t *testing.T) {
	s := newSite(t, nil)
	conn := s.dial(changes)
	s.notify(changes, "one")
	if got := s.read(conn); got != "one" {
		t.Fatal(got)
	}
	conn.Close(websocket.StatusNormalClosure, "")
	s.clients(0)
	s.notify(changes, "missed")
	conn = s.dial(changes)
	s.notify(changes, "two")
	if got := s.read(conn); got != "two" {
		t.Errorf("the first message after coming back is %q", got)
	}
}

func TestSlowClientIsSentAwayAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, &rswebsocket.Options{Timeout: 2 * time.Second})
	slow, quick := s.dial(changes), s.dial(changes)
	quick.SetReadLimit(1 << 20)
	big := strings.Repeat("x", 1<<19)
	go func() {
		for range 40 { // more than the buffers of a socket hold
			s.notify(changes, big)
		}
	}()
	for range 40 {
		if got := s.read(quick); got != big {
			t.Fatal("the quick client got something else")
		}
	}
	s.clients(1) // slow has not read a byte
	_ = slow
}

func TestClientThatDoesNotAnswerPingsIsSentAway(t *testing.T) {
	t.Parallel()
	s := newSite(t, &rswebsocket.Options{Ping: 20 * time.Millisecond, Timeout: 2 * time.Second})
	alive := s.dial(changes)
	ctx := alive.CloseRead(t.Context()) // reads, and so answers pings
	s.dial(changes)                     // does not read, and so does not answer
	s.clients(1)
	if ctx.Err() != nil {
		t.Error("the client that answers was sent away")
	}
}

func TestClientsAreBounded(t *testing.T) {
	s := newSite(t, &rswebsocket.Options{Clients: 2})
	first := s.dial(changes)
	s.dial(changes)
	_, resp, err := s.tryDial(changes, nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("the third client: %v, %v", resp, err)
	}
	first.Close(websocket.StatusNormalClosure, "")
	s.clients(1)
	s.dial(changes)
}

// TestEachClientIsBounded: a client that opens as many connections as it can leaves
// room for others, and its places are free when it leaves.
func TestEachClientIsBounded(t *testing.T) {
	s := newSite(t, &rswebsocket.Options{PerClient: 2, Client: func(r *http.Request) string { return r.Header.Get("X-From") }})
	from := func(who string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"X-From": {who}}}
	}
	enter := func(who, uri string) *websocket.Conn {
		t.Helper()
		conn, resp, err := s.tryDial(uri, from(who))
		if err != nil {
			t.Fatalf("a connection of %s: %v, %v", who, resp, err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		return conn
	}
	first := enter("greedy", changes)
	enter("greedy", others)
	_, resp, err := s.tryDial(changes, from("greedy"))
	if err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("the third connection of one client: %v, %v", resp, err)
	}
	if text, _ := io.ReadAll(resp.Body); !strings.Contains(string(text), "your address") {
		t.Errorf("the client was told %q", text)
	}
	enter("another", changes)
	first.Close(websocket.StatusNormalClosure, "")
	s.clients(2)
	enter("greedy", changes)
	s.clients(3)
}

// TestAddressIsTheClient: without Client, the address distinguishes clients.
func TestAddressIsTheClient(t *testing.T) {
	s := newSite(t, &rswebsocket.Options{PerClient: 1})
	s.dial(changes)
	_, resp, err := s.tryDial(changes, nil) // from another port
	if err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("the second connection of one address: %v, %v", resp, err)
	}
}

func TestOrigins(t *testing.T) {
	tests := []struct {
		name   string
		opts   rswebsocket.Options
		origin string
		want   bool
	}{
		{"none", rswebsocket.Options{}, "", true},
		{"own", rswebsocket.Options{}, "http://HOST", true},
		{"foreign", rswebsocket.Options{}, "https://evil.example.net", false},
		{"listed", rswebsocket.Options{Origins: []string{"*.example.org"}}, "https://www.example.org", true},
		{"rebound", rswebsocket.Options{Origins: []string{"*.example.org"}}, "http://HOST", false},
		{"not listed", rswebsocket.Options{Origins: []string{"*.example.org"}}, "https://example.org.evil.example.net", false},
		{"any", rswebsocket.Options{AnyOrigin: true}, "https://evil.example.net", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, &tt.opts)
			header := http.Header{}
			if tt.origin != "" {
				header.Set("Origin", strings.ReplaceAll(tt.origin, "HOST", strings.TrimPrefix(s.http.URL, "http://")))
			}
			conn, resp, err := s.tryDial(changes, &websocket.DialOptions{HTTPHeader: header})
			if got := err == nil; got != tt.want {
				t.Errorf("connected: %v (%v)", got, resp)
			}
			if conn != nil {
				conn.CloseNow()
			}
		})
	}
}

func TestClientsMayNotSpeak(t *testing.T) {
	s := newSite(t, nil)
	conn := s.dial(changes)
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the connection ended with %v", err)
	}
	s.clients(0)
}

// TestUnfinishedMessages has clients that begin a message and never complete it. Their
// connections end when they do not answer a ping, and leave nothing behind.
func TestUnfinishedMessages(t *testing.T) {
	for name, frames := range map[string]string{
		"of 64 KiB":           "\x81\xff\x00\x00\x00\x00\x00\x01\x00\x00mask",
		"with some text":      "\x81\xff\x00\x00\x00\x00\x00\x01\x00\x00maskhello",
		"empty, then 64 KiB":  "\x81\x80mask\x81\xff\x00\x00\x00\x00\x00\x01\x00\x00mask",
		"a frame's beginning": "\x81\xff\x00",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, &rswebsocket.Options{Ping: 20 * time.Millisecond, Timeout: 100 * time.Millisecond})
			conn, err := net.Dial("tcp", s.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET /papers/change/ HTTP/1.1\r\nHost: example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n%s", frames)
			conn.SetReadDeadline(time.Now().Add(needs.Patience))
			answer, err := io.ReadAll(conn) // to the end of the connection
			if err != nil && !errors.Is(err, syscall.ECONNRESET) || !strings.HasPrefix(string(answer), "HTTP/1.1 101 ") {
				t.Errorf("received %q, %v", answer, err)
			}
			s.clients(0)
		})
	}
}

func TestRunEndsAndNothingIsLeft(t *testing.T) {
	started := leaktest.Run(t.Context(), func(context.Context) {
		s := newSite(t, nil)
		var conns []*websocket.Conn
		for range 20 {
			conns = append(conns, s.dial(changes))
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			s.stop()
		}()
		for _, conn := range conns {
			if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Fatalf("the connection ended with %v", err)
			}
		}
		<-stopped
		s.clients(0)
		_, resp, err := s.tryDial(changes, nil)
		if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a client that comes later: %v, %v", resp, err)
		}
		s.http.Close()
	})
	http.DefaultClient.CloseIdleConnections()
	if n := started.Wait(0, needs.Patience); n > 0 {
		t.Errorf("%d goroutines are left", n)
	}
}

func TestPlainRequestIsToldWhatItIs(t *testing.T) {
	s := newSite(t, nil)
	resp, err := http.Get(s.http.URL + "/papers/change/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("answered %s", resp.Status)
	}
}

func TestTopicThatCannotBeRead(t *testing.T) {
	s := newSite(t, nil)
	s.log.broken.Store(true)
	_, resp, err := s.tryDial(changes, nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answered %v, %v", resp, err)
	}
	s.clients(0)
}

func TestBadOptions(t *testing.T) {
	for _, o := range []rswebsocket.Options{{Clients: -1}, {PerClient: -1}, {Ping: -1}, {Timeout: -1}} {
		if _, err := rswebsocket.New(&o); err == nil {
			t.Errorf("New took %+v", o)
		}
	}
}
