package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// healthz is below the prefix, does not collide with files, and answers from the start.
func TestHealthzIsServed(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "resourcesync/healthz"), "file")
	write(t, filepath.Join(folder, "healthz"), "file")
	s := startReady(t, folder, "--base-url", "http://example.org/x/")
	if res, body := s.get("x/resourcesync/healthz"); res.StatusCode != 200 || body != "ok\n" {
		t.Errorf("%s %q", res.Status, body)
	}
	if res, body := s.get("x/healthz"); body != "file" {
		t.Errorf("%s %q", res.Status, body)
	}
	if !strings.Contains(s.stderr.String(), "not published") {
		t.Errorf("the file is not logged:\n%s", s.stderr)
	}
	res, err := http.Head(s.site + "x/resourcesync/healthz")
	must(t, err)
	if res.StatusCode != 200 || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: %s %v", res.Status, res.Header)
	}
	res, err = http.Post(s.site+"x/resourcesync/healthz", "text/plain", nil)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s %v", res.Status, res.Header)
	}
}
