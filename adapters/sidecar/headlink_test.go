package sidecar_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

const inserted = `<link rel="resourcesync" href="https://example.org/resourcesync/capabilitylist.xml"/>`

// newSource returns a Source that covers all of https://example.org/.
func newSource(t testing.TB) *rshttp.Source {
	t.Helper()
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: struct{ resourcesync.Provider }{memory.New(nil)}, Prefix: "/"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// A roundTripper is an upstream without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// linkingSite returns a website that src wraps, behind a proxy that inserts links.
func linkingSite(t testing.TB, src *rshttp.Source, upstream string, transport http.RoundTripper) http.Handler {
	t.Helper()
	proxy, err := sidecar.NewProxy(upstream, "https://example.org/", &sidecar.ProxyOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return sidecar.Wrap(proxy, src, &sidecar.Options{HTMLLink: true})
}

// linkingSites are websites that src wraps and inserts links into: a handler, and a proxy
// whose upstream is that handler.
var linkingSites = map[string]func(t testing.TB, src *rshttp.Source, site http.Handler) http.Handler{
	"handler": func(_ testing.TB, src *rshttp.Source, site http.Handler) http.Handler {
		return sidecar.Wrap(site, src, &sidecar.Options{HTMLLink: true})
	},
	"proxy": func(t testing.TB, src *rshttp.Source, site http.Handler) http.Handler {
		upstream := httptest.NewServer(site)
		t.Cleanup(upstream.Close)
		return linkingSite(t, src, upstream.URL, nil)
	},
}

// pages are HTML pages; a caret marks the place of the links, and is not part of the
// page.
var pages = []struct{ name, contentType, page string }{
	{"plain", "text/html; charset=utf-8", "<!DOCTYPE html>\n<html lang=en>\n<head>^\n<title>A</title></head><body>x</body></html>"},
	{"attributes of head", "text/html; charset=utf-8", `<html><HEAD profile="a>b" data-x='<head>'>^<title>A</title>`},
	{"without html", "text/html;charset=iso-8859-1", "<head>^<title>A</title></head>\xE9"},
	{"byte order mark", "text/html", "\uFEFF<!doctype html><head>^<title>A"},
	{"charset in the page", "text/html", `<!doctype html><html><head><title>A</title><meta charset="shift_jis">^<meta name=a content=b><script>"<head>"</script></head><body>`},
	{"charset as http-equiv", "text/html", `<head><meta http-equiv="Content-Type" content="text/html; charset=koi8-r"/>^</head>`},
	{"charset nowhere", "text/html", `<head>^<title>A</title></head><body><meta charset=utf-8>`},
	{"charset in the first 1024 bytes", "text/html", `<head><!--` + strings.Repeat("x", 991) + `--><meta charset=utf-8>^</head>`},
	{"charset one byte too late", "text/html", `<head>^<!--` + strings.Repeat("x", 992) + `--><meta charset=utf-8></head>`},
	{"charset in noscript", "text/html", `<head>^<noscript><meta charset=utf-8></noscript></head>`},
	{"head in a comment", "text/html; charset=utf-8", `<!-- <head> --><!-- > --><html><!--<head>--><head>^</head>`},
	{"conditional comments", "text/html; charset=utf-8", `<!--[if IE]><html class=ie><![endif]--><!--[if !IE]><!--><html><!--<![endif]--><head>^</head>`},
	{"XHTML", "text/html; charset=utf-8", `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><head>^<title/></head></html>`},
	{"huge head", "text/html; charset=utf-8", `<html><head>^<style>` + strings.Repeat("a{}", 50_000) + `</style></head>`},
	{"head only in a script", "text/html; charset=utf-8", `<script>document.write("<head>")</script><head></head>`},
	{"no head", "text/html; charset=utf-8", `<!doctype html><title>A</title><p>text`},
	{"fragment", "text/html; charset=utf-8", `<li>one<li>two`},
	{"text before", "text/html; charset=utf-8", `x<head></head>`},
	{"head too far in", "text/html; charset=utf-8", `<!--` + strings.Repeat("x", 20_000) + `--><head></head>`},
	{"unfinished comment", "text/html; charset=utf-8", `<!-- <head>`},
	{"unfinished tag", "text/html; charset=utf-8", `<html><head class="`},
	{"less-than", "text/html; charset=utf-8", `<`},
	{"empty", "text/html; charset=utf-8", ``},
	{"UTF-16", "text/html; charset=utf-16", "<head></head>"},
	{"UTF-16 without saying so", "text/html", "\xFE\xFF\x00<\x00h\x00e\x00a\x00d\x00>"},
	{"ISO-2022", "text/html; charset=ISO-2022-JP", "<head></head>"},
	{"not HTML", "application/xhtml+xml", "<html><head></head></html>"},
	{"no type", "", "\x00<head></head>"},
}

// TestHTMLLink: for all divisions of a page into chunks, the links are in the right
// place, and the page is otherwise unchanged.
func TestHTMLLink(t *testing.T) {
	src := newSource(t)
	for _, tt := range pages {
		t.Run(tt.name, func(t *testing.T) {
			page := strings.ReplaceAll(tt.page, "^", "")
			want := strings.ReplaceAll(tt.page, "^", inserted)
			for _, zipped := range []bool{false, true} {
				body := []byte(page)
				if zipped {
					body = compress(t, body)
				}
				for chunks := range chunkings(len(body)) {
					for _, serve := range []chunkServer{serveChunks, handleChunks} {
						res := serve(t, src, tt.contentType, zipped, body, chunks)
						got := content(t, res)
						if got != want {
							t.Fatalf("gzip %v, chunks %v: got\n%.300q\nwant\n%.300q", zipped, chunks, got, want)
						}
						if unchanged := got == page; unchanged != (res.Header.Get("Etag") == `"v1"`) {
							t.Fatalf("gzip %v: changed %v, entity tag %s", zipped, !unchanged, res.Header.Get("Etag"))
						} else if unchanged && zipped && !bytes.Equal(raw(res), body) {
							t.Fatal("a page without links was compressed again")
						}
					}
				}
			}
		})
	}
}

// TestHTMLLinkOfCoveredPages: only pages that the set covers link to its Capability List.
func TestHTMLLinkOfCoveredPages(t *testing.T) {
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: struct{ resourcesync.Provider }{memory.New(nil)}, Prefix: "/papers/"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	site := linkingSite(t, src, "http://internal.example/", roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Request: r,
			Body: io.NopCloser(strings.NewReader("<html><head></head></html>")),
		}, nil
	}))
	for path, covered := range map[string]bool{"/papers/a": true, "/papers/a/b?c": true, "/": false, "/papers": false, "/papers2/a": false} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if linked := strings.Contains(w.Body.String(), inserted); w.Code != http.StatusOK || linked != covered {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// chunkings yields ways to cut n bytes: every cut in two, byte by byte, and random. Everyday runs cut
// long pages in two at every 13th place, and have fewer random ways.
func chunkings(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		if !yield([]int{n}) {
			return
		}
		if n < 5000 {
			step := 1
			if n > 500 {
				step = needs.Size(13, 1)
			}
			for i := 1; i < n; i += step {
				if !yield([]int{i, n - i}) {
					return
				}
			}
		}
		every := make([]int, min(n, 3000))
		for i := range every {
			every[i] = 1
		}
		if !yield(append(every, n-len(every))) {
			return
		}
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for range needs.Size(5, 20) {
			var sizes []int
			for left := n; left > 0; {
				sizes = append(sizes, min(left, 1+rng.IntN(1+n/3)))
				left -= sizes[len(sizes)-1]
			}
			if !yield(sizes) {
				return
			}
		}
	}
}

type chunkServer func(t testing.TB, src *rshttp.Source, contentType string, zipped bool, body []byte, chunks []int) *http.Response

// handleChunks makes a handler send body in chunks.
func handleChunks(t testing.TB, src *rshttp.Source, contentType string, zipped bool, body []byte, chunks []int) *http.Response {
	t.Helper()
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Content-Type"] = nil
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		h.Set("Etag", `"v1"`)
		if zipped {
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(200)
		rest := body
		for _, n := range chunks {
			_, _ = w.Write(rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	})
	rec := httptest.NewRecorder()
	sidecar.Wrap(site, src, &sidecar.Options{HTMLLink: true}).ServeHTTP(rec, httptest.NewRequest("GET", "https://example.org/page", nil))
	return rec.Result()
}

// serveChunks makes an upstream of a proxy send body in chunks.
func serveChunks(t testing.TB, src *rshttp.Source, contentType string, zipped bool, body []byte, chunks []int) *http.Response {
	t.Helper()
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Etag": {`"v1"`}, "Content-Length": {strconv.Itoa(len(body))}}
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		if zipped {
			h.Set("Content-Encoding", "gzip")
		}
		var parts []io.Reader
		rest := body
		for _, n := range chunks {
			parts = append(parts, bytes.NewReader(rest[:n]))
			rest = rest[n:]
		}
		return &http.Response{
			StatusCode: 200, Header: h, Body: io.NopCloser(io.MultiReader(parts...)), ContentLength: int64(len(body)), Request: r,
		}, nil
	})
	rec := httptest.NewRecorder()
	site := linkingSite(t, src, "http://127.0.0.1:8000", transport)
	site.ServeHTTP(rec, httptest.NewRequest("GET", "https://example.org/page", nil))
	return rec.Result()
}

func compress(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if _, err := zw.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func raw(res *http.Response) []byte {
	b, _ := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(b))
	return b
}

// content returns the page in res, and fails if its length does not match the header.
func content(t testing.TB, res *http.Response) string {
	t.Helper()
	b := raw(res)
	if n := res.Header.Get("Content-Length"); n != "" && n != fmt.Sprint(len(b)) {
		t.Fatalf("Content-Length: %s, %d bytes", n, len(b))
	}
	if res.Header.Get("Content-Encoding") != "gzip" {
		return string(b)
	}
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	b, err = io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
