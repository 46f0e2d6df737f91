package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
)

// toldOperators returns the body and the status of the response to operators.
func (s *served) toldOperators() (int, status.Status) {
	s.t.Helper()
	res, body := s.get(s.stderr.await(`status for operators.* url=(\S+)`)[1])
	var now status.Status
	if err := json.Unmarshal([]byte(body), &now); err != nil || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Cache-Control") != "no-store" {
		s.t.Fatalf("%v %v %s", err, res.Header, body)
	}
	return res.StatusCode, now
}

func TestStatus(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	foreign := "http://127.0.0.1:1/hub?key=secret" // where nobody listens
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--websocket", "--hub", "own", "--hub", foreign)
	if _, now := s.toldOperators(); !now.Changed.IsZero() { // the first scan does not count as a change
		t.Errorf("changed %v", now.Changed)
	}
	s.write("b.txt", "b")
	s.stderr.await("changes found")
	var code int
	var now status.Status
	s.until("the hub elsewhere has failed", func() bool {
		code, now = s.toldOperators()
		return now.Push.Topics[0].Hubs[0].LastError != ""
	})
	if code != 200 || !now.Healthy || now.Problems != nil {
		t.Errorf("%d: %v", code, now.Problems)
	}
	if now.Files == nil || *now.Files != 2 || now.Changed.IsZero() {
		t.Errorf("files: %v, changed %v", now.Files, now.Changed)
	}
	if now.Scan == nil || now.Scan.Ended.IsZero() || now.Scan.Created+now.Scan.Unchanged != 2 {
		t.Errorf("scan: %+v", now.Scan)
	}
	if now.Hub == nil {
		t.Error("no status of the hub")
	}
	if now.WebSockets == nil || *now.WebSockets != 0 {
		t.Errorf("WebSockets: %v", now.WebSockets)
	}
	hubs := now.Push.Topics[0].Hubs
	if now.Push.Topics[0].Newest != 1 || hubs[0].Behind != 1 || now.Push.Counters.Changes != 1 {
		t.Errorf("push: %+v", now.Push)
	}
	if told, err := json.Marshal(now); err != nil || strings.Contains(string(told), "secret") {
		t.Errorf("%v: %s", err, told)
	}
}

// Only operators get the status.
func TestStatusElsewhere(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--status", "127.0.0.1:0", "--hub", "none")
	if code, now := s.toldOperators(); code != 200 || now.Push != nil || now.Hub != nil || now.WebSockets != nil {
		t.Errorf("%d %+v", code, now)
	}
	url := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	if res, _ := s.get(url + "resourcesync/resourcelist.xml"); res.StatusCode != 404 {
		t.Errorf("documents: %s", res.Status)
	}
	res, err := http.Post(url, "text/plain", nil)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s %v", res.Status, res.Header)
	}
	if _, body := s.get(""); strings.Contains(body, "healthy") {
		t.Errorf("told the public %q", body)
	}
}

func TestStatusSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	write(t, filepath.Join(folder, "a.txt"), "a")
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--rescan", "1s")
	must(t, os.Rename(folder, folder+" gone"))
	s.stderr.await("scan failed")
	code, now := s.toldOperators()
	if code != 503 || now.Healthy || len(now.Problems) != 1 || strings.Contains(now.Problems[0], "store") || now.Files == nil || *now.Files != 1 {
		t.Errorf("%d %+v", code, now)
	}
}
