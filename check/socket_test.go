package check_test

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestUnfinishedMessage has a WebSocket that begins a message and sends no more. The check does not
// wait for it.
func TestUnfinishedMessage(t *testing.T) {
	s := correct(t)
	closed := make(chan error, 1)
	s.files["/socket"].serve = func(w http.ResponseWriter, r *http.Request, _ int) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n%s",
			base64.StdEncoding.EncodeToString(sum[:]), "\x81\x7f\x00\x00\x00\x00\x40\x00\x00\x00")
		conn.SetReadDeadline(time.Now().Add(needs.Patience))
		_, err = io.Copy(io.Discard, conn)
		closed <- err
	}
	r, counts := s.judge(t, nil)
	if len(counts) > 0 {
		t.Errorf("found\n%s", describe(r))
	}
	if err := <-closed; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stayed open")
	}
}
