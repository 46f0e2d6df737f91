package rshttp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestD4_InvalidFieldsAreLeftOut: a field that a document cannot hold is left out,
// counted and logged once; its entry stays, and a strict decoder accepts every
// document.
func TestD4_InvalidFieldsAreLeftOut(t *testing.T) {
	bad := resource("a")
	bad.ChangeFreq = "sometimes"
	bad.Type = "html"
	bad.Encoding = "gzip;"
	bad.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: "1B2M2Y8AsgTpgAmY7PhCfg=="}, {Algorithm: "sha-1", Digest: "00ff"}}
	bad.Attrs = []resourcesync.Attr{{Name: "a"}}
	bad.Links = []resourcesync.Link{
		{Rel: "", Href: "https://example.net/"},
		{Rel: "up", Href: "not a URI"},
		{Rel: "duplicate", Href: "https://example.net/", Path: "/a", Pri: -1},
	}
	journal := coarse{{Type: resourcesync.Updated, Datetime: newYear.Add(time.Second), Resource: bad}}
	var log bytes.Buffer
	src := newSource(t, &rshttp.Options{Sitemaps: rshttp.PlainSitemaps, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		rshttp.Set{Provider: wrong{bad, resource("b")}, Changer: journal})
	for _, tt := range []struct {
		path             string
		entries, dropped int
	}{
		{"/resourcesync/resourcelist.xml", 2, 9},
		{"/resourcesync/changelist.xml", 1, 9},
		{"/resourcesync/sitemap.xml", 2, 1}, // which has nothing but changefreq
	} {
		before := src.Counters().Dropped
		body := text(t, get(t, src, tt.path))
		_, entries, err := rsxml.Decode(strings.NewReader(body))
		if err != nil || len(entries) != tt.entries {
			t.Errorf("%s: %v, %d entries in\n%s", tt.path, err, len(entries), body)
		}
		if n := src.Counters().Dropped - before; n != uint64(tt.dropped) {
			t.Errorf("%s: %d fields are counted, want %d in\n%s", tt.path, n, tt.dropped, body)
		}
		if strings.Contains(tt.path, "list") && (!strings.Contains(body, `hash="sha-1:00ff"`) || !strings.Contains(body, `<rs:ln rel="duplicate" href="https://example.net/"/>`)) {
			t.Errorf("%s: what is valid is missing in\n%s", tt.path, body)
		}
	}
	get(t, src, "/resourcesync/resourcelist.xml")
	if n := strings.Count(log.String(), "Links[0].Rel"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	if n := src.Counters().LeftOut; n != 0 {
		t.Errorf("%d entries are left out", n)
	}
}
