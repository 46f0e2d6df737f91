package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestHTMLLinkLists: a page is listed with the length and hash of its bytes as the
// proxy serves them, or without them, also after --html-link has changed for the same
// state.
func TestHTMLLinkLists(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for _, verify := range []string{"get", "head"} {
		t.Run(verify, func(t *testing.T) { testHTMLLinkLists(t, verify) })
	}
}

func testHTMLLinkLists(t *testing.T, verify string) {
	var text atomic.Value
	text.Store("one")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := "<html><head><title>" + text.Load().(string) + "</title></head><body>" + strings.Repeat("x", 40_000) + "</body></html>"
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 05:00:00 GMT") // says nothing about changes
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprint(w, `<urlset>`)
			for _, path := range []string{"/page", "/validator", "/gzip", "/headless", "/text"} {
				// Unchanged: no scan needs to request a page again, unless the flag has changed.
				fmt.Fprintf(w, "<url><loc>http://www.example.org%s</loc><lastmod>2026-01-01T05:00:00Z</lastmod></url>", path)
			}
			fmt.Fprint(w, `</urlset>`)
			return
		case "/robots.txt":
			http.NotFound(w, r)
			return
		case "/validator":
			etag := fmt.Sprintf("%q", text.Load())
			w.Header().Set("Etag", etag)
			if r.Header.Get("If-None-Match") == etag { // no weak comparison
				w.WriteHeader(http.StatusNotModified)
				return
			}
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			zw := gzip.NewWriter(&b)
			_, _ = io.WriteString(zw, page)
			_ = zw.Close()
			page = b.String()
		case "/headless":
			page = "<p>" + page
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = io.WriteString(w, page)
	}))
	defer site.Close()
	state := filepath.Join(t.TempDir(), "state.db")
	for i, linked := range []bool{false, true, false} {
		flags := []string{"--state", state, "--verify", verify, "--revisit", "0", "--ping-token", "secret", "--dumps"}
		if linked {
			flags = append(flags, "--html-link")
		}
		p := startProxy(t, site.URL, "http://www.example.org/", flags...)
		p.do("GET", "/page", "") // perhaps not listed yet
		p.stdout.await("Ready")
		// The lists of the state are shown until the scan has corrected them.
		p.within("the lists are true", func() bool { return listsAreTrue(t, p, verify, linked) })
		if linked {
			checkDump(t, p)
		}
		if verify == "get" {
			before := len(p.changes())
			text.Store(fmt.Sprint("text ", i))
			for _, path := range []string{"/page", "/validator", "/gzip", "/headless", "/text"} {
				p.do("POST", "/resourcesync/ping", "url="+url.QueryEscape("http://www.example.org"+path), "Authorization: Bearer secret")
			}
			p.within("five changes", func() bool { return len(p.changes()) >= before+5 })
			if !listsAreTrue(t, p, verify, linked) {
				t.Error("after changes, the lists are not true")
			}
		}
		p.stop()
	}
}

// checkDump checks that the Resource Dump has the pages that GETs return.
func checkDump(t *testing.T, p *proxied) {
	t.Helper()
	inDump := map[string]bool{}
	for _, e := range p.entries("/resourcesync/resourcedump.xml") {
		_, body := p.do("GET", "/"+strings.TrimPrefix(e.Loc, p.base), "")
		z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
		must(t, err)
		for _, f := range z.File {
			r, err := f.Open()
			must(t, err)
			b, err := io.ReadAll(r)
			must(t, err)
			inDump[string(b)] = true
		}
	}
	for _, path := range []string{"/page", "/validator", "/headless", "/text"} {
		if _, body := p.do("GET", path, "", "Accept-Encoding: identity"); !inDump[body] {
			t.Errorf("the Resource Dump lacks %s: %.200s", path, body)
		}
	}
}

// listsAreTrue reports whether the lengths and hashes in the Resource List match
// anonymous GETs. They may be missing, but not wrong.
func listsAreTrue(t *testing.T, p *proxied, verify string, linked bool) bool {
	t.Helper()
	entries := p.entries("/resourcesync/resourcelist.xml")
	for _, e := range entries {
		path := strings.TrimPrefix(e.Loc, "http://www.example.org")
		_, body := p.do("GET", path, "", "Accept-Encoding: identity")
		if got := strings.Contains(body, `<link rel="resourcesync"`); path == "/page" && got != linked {
			return false
		}
		length, hash := strconv.Itoa(len(body)), fmt.Sprintf("sha-256:%x", sha256.Sum256([]byte(body)))
		if verify == "head" {
			hash = ""
		}
		if linked && (path == "/gzip" || verify == "head" && path != "/text") {
			length, hash = "", ""
		}
		if e.Metadata.Length != length || e.Metadata.Hash != hash {
			t.Logf("%s (--html-link %v): length %q, hash %q, want %q %q", path, linked, e.Metadata.Length, e.Metadata.Hash, length, hash)
			return false
		}
	}
	return len(entries) == 5
}
