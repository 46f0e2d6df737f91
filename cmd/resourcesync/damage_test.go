package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damaged creates a state of a folder with three files and one change, and damages it.
func damaged(t *testing.T, damage func(path string)) *served {
	t.Helper()
	folder, path := t.TempDir(), filepath.Join(t.TempDir(), "state.db")
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		write(t, filepath.Join(folder, name), name)
	}
	flags := []string{"--state", path, "--base-url", publicURL}
	startReady(t, folder, flags...).stop()
	write(t, filepath.Join(folder, "c.txt"), "changed")
	s := startReady(t, folder, flags...)
	s.stderr.await("changes found")
	s.stop()
	damage(path)
	return startReady(t, folder, flags...)
}

// TestD24_DamagedResource: a row that cannot be decoded is named in the log and
// replaced by the next scan.
func TestD24_DamagedResource(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.txt", "b.txt"} {
		t.Run(name, func(t *testing.T) {
			s := damaged(t, func(path string) {
				sql(t, path, "UPDATE rs_resource SET body = x'ff00' WHERE key = CAST('"+name+"' AS BLOB)")
			})
			s.stderr.await("a damaged resource is discarded.* table=rs_resource key=" + name)
			s.stderr.await("changes found.*created=1")
			if got := s.listed(); strings.Count(got, ".txt") != 3 {
				t.Errorf("listed: %s", got)
			}
			s.until("healthz is 200", func() bool {
				response, _ := s.get("resourcesync/healthz")
				return response.StatusCode == http.StatusOK
			})
		})
	}
}

// TestD24_DamagedChange: the document of a change that cannot be decoded fails, and
// the log and healthz say why; other documents are served.
func TestD24_DamagedChange(t *testing.T) {
	t.Parallel()
	s := damaged(t, func(path string) { sql(t, path, "UPDATE rs_change SET body = x'ff00'") })
	if response, _ := s.get("resourcesync/changelist.xml"); response.StatusCode < 500 {
		t.Errorf("the Change List is answered with %s", response.Status)
	}
	s.stderr.await(`level=ERROR msg="the database is damaged".*rs_change, time [0-9]+, row of key .*c\.txt.*restore a backup`)
	if got := s.listed(); strings.Count(got, ".txt") != 3 {
		t.Errorf("listed: %s", got)
	}
	if response, body := s.get("resourcesync/healthz"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "the state is damaged") {
		t.Errorf("healthz: %s: %s", response.Status, body)
	}
	s.stderr.await(`msg=unhealthy.*stop serve, then restore a copy of .*state\.db, or delete it`)
}

// TestD24_DamagedPage: a page of the file that SQLite cannot read is reported with the
// name of the file.
func TestD24_DamagedPage(t *testing.T) {
	folder, path := t.TempDir(), filepath.Join(t.TempDir(), "state.db")
	for _, name := range []string{"a.txt", "b.txt"} {
		write(t, filepath.Join(folder, name), name)
	}
	startReady(t, folder, "--state", path).stop()
	sql(t, path, "PRAGMA wal_checkpoint(TRUNCATE)")
	content, err := os.ReadFile(path)
	must(t, err)
	const page = 4096
	scribbled := 0
	for at := page; at < len(content); at += page {
		if p := content[at : at+page]; bytes.Contains(p, []byte("a.txt")) {
			copy(p, bytes.Repeat([]byte{0xff}, page/2))
			scribbled++
		}
	}
	if scribbled == 0 {
		t.Fatal("no page has a row")
	}
	must(t, os.WriteFile(path, content, 0o600))
	s := start(t, folder, "--state", path)
	s.stderr.await(`scan failed.*state\.db.*the database is damaged; restore a backup, or start with an empty database`)
	if response, body := s.get("resourcesync/healthz"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "the state is damaged") {
		t.Errorf("healthz: %s: %s", response.Status, body)
	}
}
