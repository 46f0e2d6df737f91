package rshttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// mementos returns the links to versions in the Change List, in its order, as paths.
func mementos(t *testing.T, h http.Handler) (paths []string) {
	t.Helper()
	_, entries, err := rsxml.Decode(strings.NewReader(text(t, get(t, h, "/resourcesync/changelist.xml"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := ""
		for _, l := range e.Links {
			if l.Rel == resourcesync.RelMemento {
				path = strings.TrimPrefix(l.Href, "https://example.org")
			}
		}
		paths = append(paths, path)
	}
	return paths
}

func TestD9_Memento(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("one"))
	s.put("a.txt", []byte("two, longer"))
	s.put("b%20b?x=1&y=%26", []byte("other"))
	if err := s.Delete(t.Context(), "a.txt"); err != nil {
		t.Error(err)
	}
	src := newSource(t, nil, rshttp.Set{Provider: history{s}, Memento: true, Prefix: "/"})
	paths := mementos(t, src)
	if len(paths) != 4 || paths[3] != "" {
		t.Fatalf("links to versions: %q, want 3, and none from a deletion", paths)
	}
	for i, want := range []struct{ uri, text, datetime string }{
		{"https://example.org/a.txt", "one", "Thu, 01 Jan 2026 00:00:02 GMT"},
		{"https://example.org/a.txt", "two, longer", "Thu, 01 Jan 2026 00:00:03 GMT"},
		{resource("b%20b?x=1&y=%26").URI, "other", "Thu, 01 Jan 2026 00:00:04 GMT"},
	} {
		res := get(t, src.Wrap(http.NotFoundHandler()), paths[i])
		body := text(t, res)
		h := res.Header
		if res.StatusCode != http.StatusOK || body != want.text || h.Get("Memento-Datetime") != want.datetime ||
			h.Get("Link") != "<"+want.uri+`>; rel="original"` || h.Get("Content-Type") != "text/plain" ||
			h.Get("Cache-Control") != "public, max-age=86400, immutable" || h.Get("Content-Length") != fmt.Sprint(len(want.text)) {
			t.Errorf("%s: %s, %q, %v", paths[i], res.Status, body, h)
		}
		if res := get(t, src, paths[i], "If-None-Match", h.Get("Etag")); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s, asked again: %s", paths[i], res.Status)
		}
		res = get(t, src, paths[i], "Range", "bytes=2-3", "If-Range", h.Get("Etag"))
		if got := text(t, res); res.StatusCode != http.StatusPartialContent || got != want.text[2:min(4, len(want.text))] {
			t.Errorf("%s, a range: %s, %q", paths[i], res.Status, got)
		}
		res = do(t, src, http.MethodHead, paths[i])
		if res.StatusCode != http.StatusOK || res.Header.Get("Memento-Datetime") != want.datetime {
			t.Errorf("HEAD %s: %s, %v", paths[i], res.Status, res.Header)
		}
	}
	if res := do(t, src, http.MethodPost, paths[0]); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", res.Status)
	}
}

func TestD9_MementoNotThere(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("one"))
	s.put("a.txt", []byte("two"))
	if err := s.Delete(t.Context(), "a.txt"); err != nil {
		t.Error(err)
	}
	src := newSource(t, nil, rshttp.Set{Provider: history{s}, Memento: true})
	paths := mementos(t, src)
	at, _ := url.Parse(paths[0])
	query := at.Query()
	with := func(name, value string) string {
		q, _ := url.ParseQuery(at.RawQuery)
		q.Set(name, value)
		return "/resourcesync/memento?" + q.Encode()
	}
	s.keep(describe("a.txt", []byte("two")).Hashes[0], nil)
	for _, tt := range []struct {
		name, path string
		status     int
	}{
		{"no query", "/resourcesync/memento", http.StatusNotFound},
		{"another resource", with("uri", "https://example.org/b.txt"), http.StatusNotFound},
		{"no URI", with("uri", "a.txt"), http.StatusNotFound},
		{"another moment", with("datetime", "20260101T000002.000001000Z"), http.StatusNotFound},
		{"a deletion", with("datetime", "20260101T000004.000000000Z"), http.StatusNotFound},
		{"no time", with("datetime", "yesterday"), http.StatusNotFound},
		{"a long query", with("uri", query.Get("uri")+strings.Repeat("/", 9000)), http.StatusNotFound},
		{"before the journal", with("datetime", "20250101T000000.000000000Z"), http.StatusGone},
		{"a version that is not kept", paths[1], http.StatusGone},
	} {
		res := get(t, src, tt.path)
		if res.StatusCode != tt.status || res.Header.Get("Memento-Datetime") != "" {
			t.Errorf("%s: %s, %v, want %d", tt.name, res.Status, res.Header, tt.status)
		}
	}
	plain := newSource(t, nil, rshttp.Set{Provider: history{s}})
	if res := get(t, plain, paths[0]); res.StatusCode != http.StatusNotFound {
		t.Errorf("without Memento: %s", res.Status)
	}
	if got := mementos(t, plain); strings.Join(got, "") != "" {
		t.Errorf("without Memento: links %q", got)
	}
	if _, err := rshttp.New(base, []rshttp.Set{{Provider: s, Memento: true}}, &rshttp.Options{Logger: quiet()}); err == nil {
		t.Error("Memento without a ChangeOpener is accepted")
	}
	if n := s.open.Load(); n != 0 {
		t.Errorf("%d contents are still open", n)
	}
}

// TestD9_MementoBroken: a transfer of a version whose content differs is aborted.
func TestD9_MementoBroken(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("the version"))
	s.keep(describe("a.txt", []byte("the version")).Hashes[0], []byte("that is not"))
	src := newSource(t, nil, rshttp.Set{Provider: history{s}, Memento: true})
	server := httptest.NewServer(src)
	defer server.Close()
	res, err := http.Get(server.URL + mementos(t, src)[0])
	if err == nil {
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
	}
	if err == nil {
		t.Errorf("arrived whole: %s", res.Status)
	}
}

// TestD9_MementoOfTheHost: the links of a host with its own versions, TimeGate and
// TimeMap are not changed.
func TestD9_MementoOfTheHost(t *testing.T) {
	s := newShelf(t)
	own := []resourcesync.Link{
		{Rel: resourcesync.RelMemento, Href: "https://example.org/20260101/a.txt"},
		{Rel: resourcesync.RelTimeGate, Href: "https://example.org/timegate/https://example.org/a.txt"},
		{Rel: resourcesync.RelTimeMap, Href: "https://example.org/timemap/https://example.org/a.txt", Type: "application/link-format"},
	}
	r := describe("a.txt", []byte("one"))
	r.Links = own
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	src := newSource(t, nil, rshttp.Set{Provider: history{s}, Memento: true})
	_, entries, err := rsxml.Decode(strings.NewReader(text(t, get(t, src, "/resourcesync/changelist.xml"))))
	if err != nil || len(entries) != 1 || !slices.EqualFunc(entries[0].Links, own, resourcesync.Link.Equal) {
		t.Errorf("%+v, %v", entries, err)
	}
}
