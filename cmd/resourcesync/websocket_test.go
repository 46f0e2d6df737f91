package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// dial connects to a channel. The lists of a Source are ready a moment before its channels are
// open, and a client that connects then is told to try again later.
func dial(t *testing.T, uri string) *websocket.Conn {
	t.Helper()
	for until := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
		conn, res, err := websocket.Dial(t.Context(), uri, nil)
		if err != nil && res != nil && res.StatusCode == http.StatusServiceUnavailable && time.Now().Before(until) {
			continue
		}
		must(t, err)
		t.Cleanup(func() { conn.CloseNow() })
		return conn
	}
}

// With --websocket, connected clients are notified as well.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--state", t.TempDir()+"/state", "--hub", "none", "--websocket")
	uri := s.capabilities()["change-notification"]
	if !strings.HasPrefix(uri, "ws://") {
		t.Fatalf("the channel is at %q", uri)
	}
	conn := dial(t, uri)
	s.write("file", "content")
	_, body, err := conn.Read(t.Context())
	if err != nil || !strings.Contains(string(body), "<loc>"+s.site+"file</loc>") {
		t.Errorf("the client was told %q, %v", body, err)
	}
}
