package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The access log has the address that --client-header states, and all requests: for
// documents, for files and for paths that do not exist.
func TestAccessLog(t *testing.T) {
	folder := t.TempDir()
	body := strings.Repeat("x", 1<<20)
	write(t, filepath.Join(folder, "a.txt"), body)
	s := start(t, folder, "--access-log", "combined", "--client-header", "X-Real-IP")
	ready := s.stderr.await(`msg=ready files=1 source_description=(\S+)`)
	for _, path := range []string{"a.txt", "none", "resourcesync/capabilitylist.xml"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.site+path, nil)
		must(t, err)
		req.Header.Set("X-Real-IP", "192.0.2.1, 2001:db8::7")
		req.Header.Set("User-Agent", "harvester/1")
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Error(err)
		}
		res.Body.Close()
	}
	s.stdout.await(`(?m)^2001:db8::7 - - \[[^]]*\] "GET /a.txt HTTP/1.1" 200 1048576 "-" "harvester/1"$`)
	s.stdout.await(`(?m)^2001:db8::7 - - \[[^]]*\] "GET /none HTTP/1.1" 404 \d+ "-" "harvester/1"$`)
	s.stdout.await(`(?m)^2001:db8::7 - - \[[^]]*\] "GET /resourcesync/capabilitylist.xml HTTP/1.1" 200 [1-9]\d* "-" "harvester/1"$`)
	s.get(ready[1])
	s.stdout.await(`(?m)^127.0.0.1 .* "GET /.well-known/resourcesync HTTP/1.1" 200 `)
	if strings.Contains(s.stdout.String(), "Ready") {
		t.Errorf("there is other text between the lines:\n%s", s.stdout)
	}
}

// A server outlives the program that reads its access log.
func TestAccessLogReaderGone(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	program, err := os.Executable()
	must(t, err)
	p := newProcess(t, program, folder, "--access-log", "combined")
	reader, writer, err := os.Pipe()
	must(t, err)
	p.Stdout = writer
	must(t, p.Start())
	must(t, writer.Close())
	must(t, reader.Close())
	p.awaitListening()
	for range 3 {
		if res, _ := p.get("a.txt"); res.StatusCode != 200 {
			t.Errorf("answered %s", res.Status)
		}
	}
	p.stderr.await("the access log cannot be written; its lines are lost")
	must(t, p.Process.Signal(os.Interrupt))
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr)
	}
}
