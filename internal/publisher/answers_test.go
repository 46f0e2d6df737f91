package publisher

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A rawHub answers each request on a new connection with raw bytes, and records the
// requested URIs. It needs no network, and runs in a bubble.
type rawHub struct {
	answer func(c net.Conn)
	asked  []string
}

func (h *rawHub) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer ours.Close()
		r, err := http.ReadRequest(bufio.NewReader(ours))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		h.asked = append(h.asked, r.RequestURI)
		h.answer(ours)
	}()
	return theirs, nil
}

// TestAnswers checks for all kinds of responses whether the hub has accepted the
// notification. The status decides as soon as it arrives; bytes before and after it do
// not matter.
func TestAnswers(t *testing.T) {
	const timeout = 10 * time.Second
	type verdict int
	const (
		taken verdict = iota
		again
		refused
	)
	for name, tt := range map[string]struct {
		answer func(c net.Conn)
		want   verdict
	}{
		"204": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 204 No Content\r\n\r\n") }, taken},
		"299": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n") }, taken},
		"late, but in time": {func(c net.Conn) {
			time.Sleep(timeout - timeout/100)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}, taken},
		"too late": {func(c net.Conn) {
			time.Sleep(timeout + timeout/100)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}, again},
		"gone behind the headers": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") }, taken},
		"gone in the headers":     {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Len") }, again},
		"gone at once":            {func(c net.Conn) {}, again},
		"refused, and gone": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 403 No\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nwe do")
		}, refused},
		"a body that does not end": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
			time.Sleep(timeout * 2)
		}, taken},
		"interim answers": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
		}, taken},
		"interim answers alone": {func(c net.Conn) {
			for {
				if _, err := fmt.Fprint(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
					return
				}
				time.Sleep(timeout / 20)
			}
		}, again},
		"another protocol": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		}, again},
		"another language":    {func(c net.Conn) { fmt.Fprint(c, "220 mail.example.net ESMTP\r\n") }, again},
		"a status of its own": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 999 Why\r\nContent-Length: 0\r\n\r\n") }, again},
		"endless headers": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := fmt.Fprint(c, "X-Y: ", strings.Repeat("z", 60_000), "\r\n"); err != nil {
					return
				}
			}
		}, again},
		"300": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 300 Choose\r\nLocation: /1\r\nContent-Length: 0\r\n\r\n") }, again},
		"303": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 303 See Other\r\nLocation: /1\r\nContent-Length: 0\r\n\r\n") }, again},
		"304": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 304 Not Modified\r\n\r\n") }, again},
		"308": {func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 308 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
		}, again},
		"308 to nowhere": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 308 Moved\r\nContent-Length: 0\r\n\r\n") }, again},
		"408":            {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 408 Slow\r\nContent-Length: 0\r\n\r\n") }, again},
		"410":            {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n") }, refused},
		"425":            {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 425 Early\r\nContent-Length: 0\r\n\r\n") }, again},
		"429":            {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 429 Many\r\nContent-Length: 0\r\n\r\n") }, again},
		"500":            {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") }, again},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const path = "/websub/?for=us&key=a%2Fb%20c"
				h := &rawHub{answer: tt.answer}
				hub := topic.RemoteHub{URI: "http://hub.example.net" + path}
				transport := &http.Transport{DialContext: h.dial}
				defer transport.CloseIdleConnections()
				p, err := New(pushlog.NewMemory(), []Channel{changeChannel(memory.New(nil), hub)}, nil,
					&topic.Options{Timeout: timeout, Client: &http.Client{Transport: transport}})
				if err != nil {
					t.Fatal(err)
				}
				started := time.Now()
				failed := p.send(t.Context(), &hub, &pushlog.Notification{Topic: changeTopic, CapabilityList: capabilityList, Body: []byte("<urlset/>")})
				if took := time.Since(started); took > timeout {
					t.Errorf("it took %v", took)
				}
				got := again
				if failed == nil {
					got = taken
				} else if failed.final {
					got = refused
				}
				if got != tt.want {
					t.Errorf("verdict %d, want %d: %+v", got, tt.want, failed)
				}
				time.Sleep(time.Hour) // let the hub end
				synctest.Wait()
				if !slices.Equal(h.asked, []string{path}) {
					t.Errorf("the hub was asked for %q", h.asked)
				}
			})
		})
	}
}

// TestRetryAfterBounds: a year is shortened to an hour, and invalid values are ignored.
func TestRetryAfterBounds(t *testing.T) {
	now := time.Now().UTC()
	for value, want := range map[string]time.Duration{
		"31536000":             time.Hour,
		"18446744073709551616": 0,
		"1.5":                  0,
		"+5":                   0,
		"5, 6":                 0,
		"5;x":                  0,
		"1h":                   0,
		now.Add(-365 * 24 * time.Hour).Format(http.TimeFormat): 0,
		"Mon, 32 Jan 2026 00:00:00 GMT":                        0,
		"Fri, 31 Dec 9999 23:59:59 GMT":                        time.Hour,
	} {
		asked := retry.After(http.Header{"Retry-After": {value}}, now)
		if got := min(asked, maxRetry); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
		if d := (retry.Policy{First: 2 * time.Second, Max: maxRetry}).Wait(1, asked); d < time.Second || d > maxRetry+maxRetry/4 {
			t.Errorf("%q: rests for %v", value, d)
		}
	}
}
