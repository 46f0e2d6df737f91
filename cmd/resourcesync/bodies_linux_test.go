package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// limitFiles limits the open files of a process.
func (p *process) limitFiles(n uint64) {
	p.t.Helper()
	const files = 7 // RLIMIT_NOFILE
	limit := [2]uint64{n, n}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.Process.Pid), files, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		p.t.Fatal(errno)
	}
}

// dial connects from an address of this computer, so that it appears as a separate
// client.
func (p *process) dial(from string) net.Conn {
	p.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: needs.Patience}
	c, err := d.DialContext(p.t.Context(), "tcp", p.host())
	must(p.t, err)
	p.t.Cleanup(func() { c.Close() })
	return c
}

func (p *process) host() string {
	u, err := url.Parse(p.site)
	must(p.t, err)
	return u.Host
}

// withhold sends a request whose body never arrives.
func (p *process) withhold(from, method, path string, header ...string) net.Conn {
	p.t.Helper()
	c := p.dial(from)
	_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1\r\n%s\r\n", method, path, p.host(), strings.Join(append(header, ""), "\r\n"))
	must(p.t, err)
	return c
}

// answer returns the status of the response on a connection before it is closed.
func answer(t *testing.T, c net.Conn) string {
	t.Helper()
	must(t, c.SetReadDeadline(time.Now().Add(needs.Patience)))
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %.100q", err, all)
	}
	status, _, _ := bytes.Cut(all, []byte("\r\n"))
	return string(status)
}

// TestD18_Transfers: requests whose bodies never arrive do not occupy transfers.
func TestD18_Transfers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(folder, fmt.Sprint(i)), strings.Repeat("x", 100_000))
	}
	p := startProcess(t, folder, "--dumps")
	p.stdout.await("Ready")
	uri := p.document(p.capabilities()["resourcedump"], "resourcedump").Entries[0].Loc
	u, err := url.Parse(uri)
	must(t, err)
	var held []net.Conn
	for _, from := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		for range 32 {
			held = append(held, p.withhold(from, "GET", u.Path))
		}
	}
	begun := time.Now()
	for range 10 {
		if res, all := p.get(uri); res.StatusCode != http.StatusOK || len(all) < 2_000_000 {
			t.Fatalf("%s, %d bytes", res.Status, len(all))
		}
	}
	t.Logf("10 packages of 2 MB took %v beside %d requests without their bodies", time.Since(begun), len(held))
	p.checkMemory()
	for _, c := range held {
		if got := answer(t, c); got != "HTTP/1.1 400 Bad Request" {
			t.Fatalf("answered %q", got)
		}
	}
}

// TestD18_Descriptors: more requests without their bodies than the process may have
// connections block the site only for seconds.
func TestD18_Descriptors(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	p := startProcess(t, folder, "--hub", "own")
	p.stdout.await("Ready")
	capabilities := p.capabilities()
	hub := "/" + site.HubPath
	p.limitFiles(500)
	var held []net.Conn
	for i := range 600 {
		from := fmt.Sprintf("127.0.0.%d", 2+i%50)
		switch i % 6 {
		case 0:
			held = append(held, p.withhold(from, "GET", "/a.txt"))
		case 1:
			held = append(held, p.withhold(from, "POST", hub, "Content-Type: text/html"))
		case 2:
			held = append(held, p.withhold(from, "PUT", "/a.txt"))
		case 3:
			held = append(held, p.withhold(from, "GET", hub))
		default:
			held = append(held, p.withhold(from, "GET", strings.TrimPrefix(capabilities["resourcelist"], p.site[:len(p.site)-1])))
		}
	}
	begun := time.Now()
	for _, uri := range []string{capabilities["resourcelist"], p.site + "a.txt"} {
		client := http.Client{Timeout: needs.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get(uri)
		must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", uri, res.Status)
		}
	}
	t.Logf("answered after %v beside %d requests without their bodies", time.Since(begun), len(held))
	p.checkMemory()
	for _, c := range held {
		if got := answer(t, c); !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("answered %q", got)
		}
	}
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) { // work that wanted a descriptor is tried again
		if res, text := p.get("resourcesync/healthz"); res.StatusCode == http.StatusOK {
			t.Logf("healthy after another %v", time.Since(begun))
			break
		} else if time.Since(begun) > needs.Patience {
			t.Fatalf("afterwards %s %s\n%s", res.Status, text, p.stderr)
		}
	}
}
