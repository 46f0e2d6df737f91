package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With a base URL of their own, documents and files are below it, and the
// well-known URI is at the root of the host.
func TestBaseURL(t *testing.T) {
	s := startReady(t, sampleFolder(t), "--base-url", "https://files.example.org/data", "--prefix", "rs/docs")
	const base = "https://files.example.org/data/"
	said := s.stdout.await(`Source Description: (\S+) Resource List: (\S+)\n`)
	if said[1] != "https://files.example.org/.well-known/resourcesync" || said[2] != base+"rs/docs/resourcelist.xml" {
		t.Errorf("said: %q", said)
	}
	if got := s.document(s.site+".well-known/resourcesync", "description").Entries[0].Loc; got != base+"rs/docs/capabilitylist.xml" {
		t.Errorf("Capability List: %s", got)
	}
	entries := s.document(s.site+"data/rs/docs/resourcelist.xml", "resourcelist").Entries
	if len(entries) != len(sampleFiles) {
		t.Errorf("%d entries", len(entries))
	}
	for _, e := range entries {
		path, ok := strings.CutPrefix(e.Loc, base)
		if res, _ := s.get("data/" + path); !ok || res.StatusCode != 200 || res.Header.Get("Link") != `<`+base+`rs/docs/capabilitylist.xml>; rel="resourcesync"` {
			t.Errorf("%s: %s %v", e.Loc, res.Status, res.Header)
		}
		if res, _ := s.get(path); res.StatusCode != 404 && path != "robots.txt" { // which is the host's
			t.Errorf("%s: %s outside of the base URL", path, res.Status)
		}
	}
}

// The plain sitemap is for search engines and has nothing of ResourceSync in it.
func TestSitemap(t *testing.T) {
	s := startReady(t, sampleFolder(t), "--sitemap", "--page-size", "5")
	res, index := s.get("resourcesync/sitemap.xml")
	if res.StatusCode != 200 || !strings.Contains(index, "<sitemapindex") || strings.Contains(index, "openarchives") {
		t.Errorf("%s %s", res.Status, index)
	}
}

// Files in the way of documents are not published, and each place is told of
// once.
func TestReserved(t *testing.T) {
	folder := t.TempDir()
	for _, key := range []string{"a.txt", "resourcesync/resourcelist.xml", "resourcesync/x/y.txt", ".well-known/resourcesync", ".well-known/security.txt"} {
		write(t, filepath.Join(folder, filepath.FromSlash(key)), "file")
	}
	s := startReady(t, folder, "--dot-files", "--rescan", "1s")
	if got := s.listed(); got != ".well-known/security.txt a.txt" {
		t.Errorf("listed: %s", got)
	}
	if res, _ := s.get("resourcesync/x/y.txt"); res.StatusCode != 404 {
		t.Error(res.Status)
	}
	s.document(s.site+".well-known/resourcesync", "description")

	s.write("b.txt", "") // and there is another scan
	s.stderr.await("changes found")
	if n := strings.Count(s.stderr.String(), "not published"); n != 2 {
		t.Errorf("told of %d times:\n%s", n, s.stderr)
	}
}

// Nothing is in the way of anything with another prefix, nor elsewhere than at
// the root of the host.
func TestNotReserved(t *testing.T) {
	folder := t.TempDir()
	for _, key := range []string{"resourcesync/a.txt", ".well-known/resourcesync"} {
		write(t, filepath.Join(folder, filepath.FromSlash(key)), "file")
	}
	s := startReady(t, folder, "--dot-files", "--prefix", "/-/rs/", "--base-url", "http://example.org/pub/")
	if n := len(s.document(s.site+"pub/-/rs/resourcelist.xml", "resourcelist").Entries); n != 2 {
		t.Errorf("%d files are listed", n)
	}
	if res, body := s.get("pub/.well-known/resourcesync"); body != "file" {
		t.Errorf("%s %q", res.Status, body)
	}
	if s.stderr.String() == "" || strings.Contains(s.stderr.String(), "WARN") {
		t.Errorf("%s", s.stderr)
	}
}

// scanOnce scans a folder that is published by flags, and returns what is shown of
// that meanwhile.
func scanOnce(t *testing.T, terminal bool, flags ...string) string {
	t.Helper()
	var buf bytes.Buffer
	screen := &screen{w: &buf, terminal: terminal}
	c, err := parseServe(append([]string{"--base-url", publicURL}, flags...))
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := openState(t.Context(), &c, log)
	must(t, err)
	defer st.close()
	p, err := c.publication(t.Context(), st, screen, log)
	must(t, err)
	defer p.close()
	p.scanner.ready = func(int64) {}
	must(t, p.scanner.scan(t.Context()))
	return buf.String()
}

// A terminal is shown how the first scan gets on; nothing else is.
func TestProgress(t *testing.T) {
	folder := sampleFolder(t)
	if shown := scanOnce(t, true, folder); !strings.HasSuffix(shown, "14 of 14 files, 0 of 0 MB read"+eraseLine) {
		t.Errorf("%q", shown)
	}
	if shown := scanOnce(t, false, folder); shown != "" {
		t.Errorf("%q", shown)
	}
}

func TestScreen(t *testing.T) {
	var buf bytes.Buffer
	s := &screen{w: &buf, terminal: true}
	io.WriteString(s, "first\n")
	s.status("1")
	s.status("2")
	io.WriteString(s, "second\n")
	s.status("3")
	s.status("")
	s.status("")
	const want = "first\n1" + eraseLine + "2" + eraseLine + "second\n3" + eraseLine
	if buf.String() != want {
		t.Errorf("%q, want %q", &buf, want)
	}
	if f, err := os.Open(os.DevNull); err != nil || newScreen(f).terminal || newScreen(&buf).terminal {
		t.Error("what is no terminal is taken for one", err)
	}
}

// Methods other than GET and HEAD are refused everywhere.
func TestMethods(t *testing.T) {
	s := startReady(t, sampleFolder(t))
	for _, url := range []string{"index.html", "resourcesync/resourcelist.xml", ".well-known/resourcesync"} {
		res, err := http.Post(s.site+url, "text/plain", strings.NewReader("x"))
		must(t, err)
		res.Body.Close()
		if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s %v", url, res.Status, res.Header)
		}
	}
}
