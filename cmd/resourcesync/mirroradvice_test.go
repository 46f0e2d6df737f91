package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestMirrorNoAnswer: if a Source does not answer, one line says what to do.
func TestMirrorNoAnswer(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	for _, flags := range [][]string{nil, {"--json"}, {"--audit"}} {
		status, stdout, stderr := runMirror(t, append([]string{s.URL, t.TempDir()}, flags...)...)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "the Source does not answer, and the copy stays as before; check the URL and the network, and run it again: ") {
			t.Errorf("%v: status %d, %q, %q", flags, status, stdout, stderr)
		}
	}
}

// TestMirrorPrivateAddresses: if a Source has many resources at another port of its host, which
// has a private address, one line says what to do.
func TestMirrorPrivateAddresses(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
		}
	}))
	defer other.Close()
	list := `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>`
	for i := range 30 {
		list += fmt.Sprintf("<url><loc>%s/%d</loc></url>", other.URL, i)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/list.xml" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, list, "</urlset>")
	}))
	defer s.Close()
	dir := t.TempDir()
	status, _, stderr := runMirror(t, s.URL+"/list.xml", dir)
	if status != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "30 resources could not be copied; some are at private addresses such as 127.0.0.1: if the Source may lead there, run it again with --allow-addresses 127.0.0.1/32") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr := runMirror(t, s.URL+"/list.xml", dir, "--allow-addresses", "127.0.0.1/32"); status != 0 {
		t.Errorf("with --allow-addresses: status %d, %s", status, stderr)
	}
}
