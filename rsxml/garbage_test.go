package rsxml

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestD4_WhateverIsYielded encodes entries of random garbage, and wants a strict
// decoder to accept every document, CheckEntry to find fault exactly where
// something is left out, and no change to be missing.
func TestD4_WhateverIsYielded(t *testing.T) {
	for seed := range uint64(500) {
		checkGarbage(t, &garbage{Rand: rand.New(rand.NewPCG(seed, 4))})
	}
}

// FuzzGarbage is TestD4_WhateverIsYielded with a text to make the garbage of.
func FuzzGarbage(f *testing.F) {
	for _, s := range []string{"", "md5", "sha-256:", "urn:a", "http://www.openarchives.org/rs/terms/", "\xff\x00", "text/html; a='b'"} {
		f.Add(uint64(1), s)
	}
	f.Fuzz(func(t *testing.T, seed uint64, s string) {
		checkGarbage(t, &garbage{Rand: rand.New(rand.NewPCG(seed, 4)), s: s})
	})
}

func checkGarbage(t *testing.T, g *garbage) {
	t.Helper()
	c := []resourcesync.Capability{
		resourcesync.ResourceList, resourcesync.ChangeList, resourcesync.ResourceDumpManifest,
		resourcesync.ChangeDumpManifest, resourcesync.ChangeNotification, "",
	}[g.IntN(6)]
	from := date("2025-01-01T00:00:00Z")
	h := Head{Metadata: Metadata{Capability: c}, Links: g.links()}
	if c == "" {
		h.Links = nil
	}
	ofChanges := false
	switch c {
	case resourcesync.ResourceList, resourcesync.ResourceDumpManifest:
		h.Metadata.At = from
	case resourcesync.ChangeList, resourcesync.ChangeDumpManifest, resourcesync.ChangeNotification:
		h.Metadata.From, h.Metadata.Until = from, from.Add(time.Hour)
		ofChanges = true
	}
	b := AppendHead(nil, &h)
	count := 1 + g.IntN(4)
	var e Entry
	for range count {
		r := g.resource()
		if e.SetResource(&r); ofChanges {
			from = from.Add(time.Second)
			e.SetChange(&resourcesync.Change{Type: resourcesync.Updated, Datetime: from, Resource: r})
		}
		if h.isManifest() {
			e.Metadata.Path = "/a"
		}
		var dropped int
		b, dropped = AppendEntry(b, &h, &e)
		if err := CheckEntry(&h, &e); (err != nil) != (dropped > 0) {
			t.Fatalf("%d values left out of %+v, CheckEntry says %v", dropped, e, err)
		}
	}
	b = AppendTail(b, &h)
	_, entries, err := Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%v in\n%.3000s", err, b)
	}
	if len(entries) != count {
		t.Fatalf("%d entries, want %d", len(entries), count)
	}
}

// A garbage makes resources of anything.
type garbage struct {
	*rand.Rand
	s string
}

// text returns something that may or may not be valid somewhere.
func (g *garbage) text() string {
	parts := []string{
		"", "a", "up", "text/html", "gzip", "sha-256", "00ff", "https://example.org/x", "urn:a", "daily", "/path",
		"http://www.openarchives.org/rs/terms/", "HTTPS://openarchives.org/rs/terms", SitemapNS, xmlNS, xmlnsNS,
		" ", ":", ";", ",", "/", "\t", "\n", "\x00", "\xff", "\uFFFD", "\uFFFE", "é", "<", "&", `"`, "'", "%", "%zz", "]]>",
		g.s,
	}
	if g.IntN(200) == 0 {
		return strings.Repeat(parts[g.IntN(len(parts))], 10_000)
	}
	var b strings.Builder
	for range 1 + g.IntN(2)*g.IntN(4) {
		b.WriteString(parts[g.IntN(len(parts))])
	}
	return b.String()
}

func (g *garbage) hashes() (hashes []resourcesync.Hash) {
	for range g.IntN(3) {
		hashes = append(hashes, resourcesync.Hash{Algorithm: g.text(), Digest: g.text()})
	}
	if g.IntN(500) == 0 {
		for range 3000 {
			hashes = append(hashes, resourcesync.Hash{Algorithm: "md5", Digest: "00112233445566778899aabbccddeeff"})
		}
	}
	return hashes
}

func (g *garbage) attrs() (attrs []resourcesync.Attr) {
	for range g.IntN(4) {
		a := resourcesync.Attr{Space: g.text(), Name: g.text(), Value: g.text()}
		if g.IntN(2) == 0 {
			a.Name = "name"
		}
		attrs = append(attrs, a)
	}
	if g.IntN(500) == 0 {
		attrs = append(attrs, resourcesync.Attr{Space: "urn:long", Name: "a", Value: strings.Repeat("&", g.IntN(400_000))}, resourcesync.Attr{Space: "urn:long", Name: "b"})
	}
	return attrs
}

func (g *garbage) links() (links []resourcesync.Link) {
	n := g.IntN(4)
	if g.IntN(100) == 0 {
		n = 1000
	}
	for range n {
		l := resourcesync.Link{
			Rel: g.text(), Href: g.text(), Encoding: g.text(), Hashes: g.hashes(), Length: resourcesync.Bytes(g.Int64() - 2),
			Modified: g.time(), Path: g.text(), Pri: g.IntN(2_000_000) - 10, Type: g.text(), Attrs: g.attrs(),
		}
		if g.IntN(2) == 0 {
			l.Rel, l.Href = "up", "https://example.org/"
		}
		links = append(links, l)
	}
	return links
}

func (g *garbage) time() time.Time { return time.Unix(g.Int64(), g.Int64N(1e9)) }

func (g *garbage) resource() resourcesync.Resource {
	return resourcesync.Resource{
		URI: "https://example.org/", LastModified: g.time(), ChangeFreq: g.text(), Length: resourcesync.Bytes(g.Int64() - 2),
		Type: g.text(), Encoding: g.text(), Hashes: g.hashes(), Links: g.links(), Attrs: g.attrs(),
	}
}
