package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestHealthz(t *testing.T) {
	var err error
	log := newOutput(t)
	h := &healthHandler{
		check: func(context.Context) error { return err },
		notes: func() []string { return nil },
		log:   slog.New(slog.NewTextHandler(log, nil)),
	}
	const body, unwell = "ok\n", "unhealthy; see the log\n"
	for _, step := range []struct {
		err    error
		status int
		body   string
		logged int // lines, until then
	}{
		{nil, 200, body, 0},
		{errors.New("secret"), 503, unwell, 1},
		{errors.New("secret"), 503, unwell, 1},
		{nil, 200, body, 2},
		{nil, 200, body, 2},
		{errors.New("secret"), 503, unwell, 3},
	} {
		err = step.err
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != step.status || w.Body.String() != step.body || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %v %q", err, w.Code, w.Header(), w.Body)
		}
		if n := strings.Count(log.String(), "\n"); n != step.logged {
			t.Errorf("%v: logged\n%s", err, log)
		}
	}
	if !strings.Contains(log.String(), "error=secret") {
		t.Errorf("logged\n%s", log)
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err = nil
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/", nil))
	if strings.Count(log.String(), "\n") != 3 { // clients that disconnected got no answer
		t.Errorf("logged\n%s", log)
	}
}

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
