package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestD24_Headers: a request's header has at most 32 KiB, and 4 KiB that net/http
// adds to any limit.
func TestD24_Headers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/a.txt", "a")
	s := startReady(t, folder)
	for n, want := range map[int]int{20 << 10: http.StatusOK, 40 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.site+"a.txt", nil)
		must(t, err)
		r.Header.Set("X", strings.Repeat("x", n))
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d bytes: %s", n, res.Status)
		}
	}
}

// TestD24_Host requests the status under host names that a web page could have.
func TestD24_Host(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/a.txt", "a")
	for listen, tests := range map[string]map[string]int{
		"127.0.0.1:0": {"": 200, "localhost": 200, "LOCALHOST.:80": 200, "[::1]:9090": 200, "192.0.2.1": 200, "evil.example.net": 421, "localhost.evil.example.net": 421, "127.0.0.1.evil.example.net:80": 421, "2130706433": 421},
		"localhost:0": {"": 200, "localhost:1": 200, "evil.example.net": 421},
	} {
		s := startReady(t, folder, "--status", listen)
		status := s.stderr.await(`url=(http://[^ \n]*)`)[1]
		for host, want := range tests {
			r, err := http.NewRequestWithContext(t.Context(), "GET", status, nil)
			must(t, err)
			r.Host = host
			res, err := http.DefaultClient.Do(r)
			must(t, err)
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s as %q: %s, want %d", listen, host, res.Status, want)
			}
		}
		s.stop()
	}
	name, err := os.Hostname()
	if addrs, lookupErr := net.LookupHost(name); err != nil || lookupErr != nil || len(addrs) == 0 {
		needs.Skip(t, "this computer has no name")
	}
	s := startReady(t, folder, "--status", name+":0")
	status := s.stderr.await(`url=(http://[^ \n]*)`)[1]
	r, err := http.NewRequestWithContext(t.Context(), "GET", status, nil)
	must(t, err)
	r.Host = strings.ToUpper(name) + ":9090"
	res, err := http.DefaultClient.Do(r)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("as %q, the name in --status: %s", r.Host, res.Status)
	}
}

// TestD24_Probes: probes reach a site by any of its addresses.
func TestD24_Probes(t *testing.T) {
	folder := t.TempDir()
	write(t, folder+"/a.txt", "a")
	s := startReady(t, folder)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.site+"resourcesync/healthz", nil)
	must(t, err)
	r.Host = "pod-17.cluster.example"
	res, err := http.DefaultClient.Do(r)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("healthz: %s", res.Status)
	}
}

// TestD24_Origins opens WebSockets as browsers do for pages of other sites.
func TestD24_Origins(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/a.txt", "a")
	for flags, tests := range map[string]map[string]bool{
		"": {"": true, "https://files.example.org": true, "https://evil.example.net": false, "https://files.example.org.evil.example.net": false, "null": false},
		"--websocket-origin=*.example.com --websocket-origin=other.example.org": {"": true, "https://files.example.org": true, "https://www.example.com": true, "https://other.example.org": true, "https://evil.example.net": false},
		"--websocket-origin=*": {"": true, "https://evil.example.net": true, "null": true},
	} {
		s := startReady(t, folder, append([]string{"--websocket", "--base-url", publicURL}, strings.Fields(flags)...)...)
		for origin, want := range tests {
			o := &websocket.DialOptions{HTTPHeader: http.Header{}}
			if origin != "" {
				o.HTTPHeader.Set("Origin", origin)
			}
			var conn *websocket.Conn
			var res *http.Response
			var err error
			s.until("the channel is open", func() bool {
				conn, res, err = websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.site, "http")+"resourcesync/change/websocket", o)
				return res != nil && res.StatusCode != http.StatusServiceUnavailable
			})
			if (err == nil) != want || !want && res.StatusCode != http.StatusForbidden {
				t.Errorf("%q from %q: %v", flags, origin, err)
			}
			if err == nil {
				conn.CloseNow()
			}
		}
		s.stop()
	}
}

// TestD24_OriginFlags: the error names the fault of a flag.
func TestD24_OriginFlags(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"--websocket-origin www.example.org", "add --websocket"},
		{"--websocket --websocket-origin https://www.example.org/", "give the host of a page"},
		{"--websocket --websocket-origin [", "give the host of a page"},
	} {
		_, err := parseServe(append(strings.Fields(test.flags), "."))
		if !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v", test.flags, err)
		}
	}
}
