package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// With --base-url, documents and files are below it, and the well-known URI is at the
// root of the host.
func TestBaseURL(t *testing.T) {
	s := startReady(t, sampleFolder(t), "--base-url", "https://files.example.org/data", "--prefix", "rs/docs")
	const base = "https://files.example.org/data/"
	said := s.stdout.await(`Source +(\S+)\n +List +(\S+)\n`)
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

// The plain sitemap is for search engines, and has no elements of ResourceSync.
func TestSitemap(t *testing.T) {
	s := startReady(t, sampleFolder(t), "--sitemap", "--page-size", "5")
	res, index := s.get("resourcesync/sitemap.xml")
	if res.StatusCode != 200 || !strings.Contains(index, "<sitemapindex") || strings.Contains(index, "openarchives") {
		t.Errorf("%s %s", res.Status, index)
	}
}

// Files that collide with documents are not published, and each path is logged once.
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
		t.Errorf("logged %d times:\n%s", n, s.stderr)
	}
}

// With another prefix, and a base URL below the root of the host, no files collide.
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

// scanOnce scans a folder that is published with flags, and returns the progress that
// is shown.
func scanOnce(t *testing.T, onTerminal bool, flags ...string) string {
	t.Helper()
	var buf bytes.Buffer
	screen := terminal.New(&buf)
	screen.Control = onTerminal
	c, err := parseServe(append([]string{"--base-url", publicURL}, flags...))
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := c.OpenState(t.Context(), log)
	must(t, err)
	defer st.Close()
	p := open(t, c, st, screen)
	scanOf(t, p)
	return buf.String()
}

// The progress of the first scan appears on a terminal only. A scan this small may end
// before its files are counted.
func TestProgress(t *testing.T) {
	folder := sampleFolder(t)
	if shown := scanOnce(t, true, folder); !regexp.MustCompile(`Scanning(: 14| 100%: 14 of 14) files, \d+ B( of \d+ B)? read` + regexp.QuoteMeta(eraseLine) + "$").MatchString(shown) {
		t.Errorf("%q", shown)
	}
	if shown := scanOnce(t, false, folder); shown != "" {
		t.Errorf("%q", shown)
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
