package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestD3_FutureFile: a file from the future has no modification time, neither in
// documents nor where it is served, until it is written again. It does not change when
// that time comes.
func TestD3_FutureFile(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	path := filepath.Join(folder, "index.html")
	soon := time.Now().Add(24 * time.Hour)
	must(t, os.Chtimes(path, soon, soon))
	s := startReady(t, folder)
	lastmod := func() (found time.Time) {
		t.Helper()
		for _, e := range s.list("resourcelist") {
			if s.key(e.Loc) == "index.html" {
				found = e.LastMod
			} else if e.LastMod.IsZero() {
				t.Errorf("%s has no lastmod", e.Loc)
			}
		}
		return found
	}
	if at := lastmod(); !at.IsZero() {
		t.Errorf("lastmod %v", at)
	}
	for _, url := range []string{s.site + "index.html", s.capabilities()["resourcelist"]} {
		res, _ := s.get(url)
		modified, err := http.ParseTime(res.Header.Get("Last-Modified"))
		sent, _ := http.ParseTime(res.Header.Get("Date"))
		if res.Header.Get("Last-Modified") != "" && (err != nil || modified.After(sent)) {
			t.Errorf("%s: Last-Modified %v (%v), Date %v", url, modified, err, sent)
		}
	}
	s.write("index.html", "<p>of today")
	s.stderr.await("changes found")
	if at := lastmod(); at.IsZero() || at.After(time.Now()) {
		t.Errorf("lastmod %v", at)
	}
}
