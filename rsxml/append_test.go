package rsxml

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func date(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// fullDocument returns a document in which everything has a value that can have
// one.
func fullDocument() (Head, []Entry) {
	attrs := []resourcesync.Attr{
		{Space: "https://example.org/ns/a", Name: "shelf", Value: "12"},
		{Space: "https://example.org/ns/b", Name: "shelf", Value: "13"},
		{Space: "https://example.org/ns/a", Name: "row", Value: "<7>"},
		{Space: xmlNS, Name: "lang", Value: "el"},
	}
	hashes := []resourcesync.Hash{{Algorithm: "md5", Digest: "3d"}, {Algorithm: "sha-256", Digest: "9f86"}}
	h := Head{
		Metadata: Metadata{
			Capability: resourcesync.ChangeDumpManifest,
			From:       date("2025-05-01T00:00:00Z"),
			Until:      date("2025-05-02T00:00:00Z"),
			Attrs:      attrs[:1],
		},
		Links: []resourcesync.Link{{Rel: resourcesync.RelUp, Href: "https://example.org/capabilitylist.xml"}},
	}
	return h, []Entry{{
		Loc:        "https://example.org/a?b=c&d='e'",
		LastMod:    date("2025-05-01T14:00:00.25+02:00"),
		ChangeFreq: "daily",
		Metadata: Metadata{
			Change:   resourcesync.Updated,
			Datetime: date("2025-05-01T12:00:00.000001Z"),
			Encoding: "gzip",
			Hashes:   hashes,
			Length:   resourcesync.Bytes(0),
			Path:     "/a",
			Type:     "text/plain",
			Attrs:    attrs,
		},
		Links: []resourcesync.Link{{
			Rel:      resourcesync.RelDuplicate,
			Href:     "https://example.net/a",
			Encoding: "br",
			Hashes:   hashes[1:],
			Length:   resourcesync.Bytes(math.MaxInt64 - 1),
			Modified: date("2025-05-01T12:00:00Z"),
			Path:     "/b",
			Pri:      1,
			Type:     "text/html",
			Attrs:    attrs[1:2],
		}},
	}, {
		Loc:      "https://example.org/b",
		Metadata: Metadata{Change: resourcesync.Deleted},
	}}
}

const fullXML = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
<rs:md capability="changedump-manifest" from="2025-05-01T00:00:00.000000Z" until="2025-05-02T00:00:00.000000Z" xmlns:ns1="https://example.org/ns/a" ns1:shelf="12"/>
<url>
<loc>https://example.org/a?b=c&amp;d=&apos;e&apos;</loc>
<lastmod>2025-05-01T12:00:00.25Z</lastmod>
<changefreq>daily</changefreq>
<rs:md change="updated" datetime="2025-05-01T12:00:00.000001Z" hash="md5:3d sha-256:9f86" length="0" type="text/plain" encoding="gzip" path="/a" xmlns:ns1="https://example.org/ns/a" ns1:shelf="12" xmlns:ns2="https://example.org/ns/b" ns2:shelf="13" ns1:row="&lt;7&gt;" xml:lang="el"/>
<rs:ln rel="duplicate" pri="1" href="https://example.net/a" modified="2025-05-01T12:00:00Z" hash="sha-256:9f86" length="9223372036854775806" type="text/html" encoding="br" path="/b" xmlns:ns1="https://example.org/ns/b" ns1:shelf="13"/>
</url>
<url>
<loc>https://example.org/b</loc>
<rs:md change="deleted"/>
</url>
</urlset>
`

func TestAppend(t *testing.T) {
	h, entries := fullDocument()
	if got := string(encode(h, entries)); got != fullXML {
		t.Errorf("full document:\n%s\nwant:\n%s", got, fullXML)
	}
	gotHead, gotEntries, err := Decode(strings.NewReader(fullXML))
	if err != nil {
		t.Fatal(err)
	}
	entries[0].LastMod = entries[0].LastMod.UTC()
	if !reflect.DeepEqual(gotHead, h) || !reflect.DeepEqual(gotEntries, entries) {
		t.Errorf("decoded to\n%+v\n%+v\nwant\n%+v\n%+v", gotHead, gotEntries, h, entries)
	}
}

// TestAppendPlain wants nothing of ResourceSync in a plain sitemap, even if its
// entries have it.
func TestAppendPlain(t *testing.T) {
	_, entries := fullDocument()
	got := string(encode(Head{Index: true}, entries[1:]))
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap>
<loc>https://example.org/b</loc>
</sitemap>
</sitemapindex>
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// appendEntry returns e as the encoder writes it.
func appendEntry(h *Head, e *Entry) string {
	b, _ := AppendEntry(nil, h, e)
	return string(b)
}

// TestAppendLeavesOut writes what has no place in a document.
func TestAppendLeavesOut(t *testing.T) {
	h := Head{Metadata: Metadata{Capability: "x"}}
	plain := appendEntry(&h, &Entry{Loc: "https://example.org/"})
	for name, attr := range map[string]resourcesync.Attr{
		"no namespace":       {Name: "a", Value: "v"},
		"relative namespace": {Space: "a", Name: "a", Value: "v"},
		"sitemap namespace":  {Space: SitemapNS, Name: "loc", Value: "v"},
		"terms namespace":    {Space: TermsNS, Name: "capability", Value: "v"},
		"other terms":        {Space: "http://www.openarchives.org/rs/2.0", Name: "capability", Value: "v"},
		"xmlns namespace":    {Space: xmlnsNS, Name: "rs", Value: "v"},
		"no name":            {Space: "urn:a", Value: "v"},
		"colon in name":      {Space: "urn:a", Name: "a:b", Value: "v"},
		"space in name":      {Space: "urn:a", Name: `a b="c"`, Value: "v"},
		"digit first":        {Space: "urn:a", Name: "1", Value: "v"},
		"dot first":          {Space: "urn:a", Name: ".a", Value: "v"},
		"invalid UTF-8":      {Space: "urn:a", Name: "a\xff", Value: "v"},
	} {
		e := Entry{Loc: "https://example.org/", Metadata: Metadata{Attrs: []resourcesync.Attr{attr}}}
		if got := appendEntry(&h, &e); got != plain {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	e := Entry{Loc: "https://example.org/", Metadata: Metadata{Attrs: []resourcesync.Attr{
		{Space: "", Name: "left", Value: "out"},
		{Space: "urn:a", Name: "left out", Value: "too"},
		{Space: "urn:a", Name: "é-1.x", Value: "first"},
		{Space: "urn:a", Name: "é-1.x", Value: "second"},
	}}}
	if got, want := appendEntry(&h, &e), `<rs:md xmlns:ns3="urn:a" ns3:é-1.x="first"/>`; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
	for _, pri := range []int{-1, 0, maxPri + 1} {
		e := Entry{Links: []resourcesync.Link{{Rel: "a", Href: "b:", Pri: pri}}}
		if got := appendEntry(&h, &e); strings.Contains(got, "pri=") {
			t.Errorf("pri %d: got\n%s", pri, got)
		}
	}
}

func TestAppendTime(t *testing.T) {
	for _, test := range []struct {
		t    time.Time
		want string
	}{
		{date("2025-05-01T12:00:00Z"), "2025-05-01T12:00:00Z"},
		{date("2025-05-01T12:00:00.120Z"), "2025-05-01T12:00:00.12Z"},
		{date("2025-05-01T12:00:00.000000001Z"), "2025-05-01T12:00:00.000000001Z"},
		{date("2025-05-01T01:30:00+02:00"), "2025-04-30T23:30:00Z"},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "0000-01-01T00:00:00Z"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), "9999-12-31T23:59:59.999999999Z"},
		{time.Date(-1, 12, 31, 23, 59, 59, 999999999, time.UTC), "0000-01-01T00:00:00Z"},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "9999-12-31T23:59:59Z"},
		{time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)), "9999-12-31T23:59:59Z"},
		{time.Unix(math.MaxInt64, 0), "9999-12-31T23:59:59Z"},
		{time.Unix(math.MinInt64, 0), "0000-01-01T00:00:00Z"},
	} {
		got := string(appendTime(nil, test.t))
		if got != test.want {
			t.Errorf("%v: got %s, want %s", test.t, got, test.want)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	h, entries := fullDocument()
	r := &resourcesync.Resource{
		URI:          "https://example.org/a?b&c",
		LastModified: time.Now(),
		Hashes:       entries[0].Metadata.Hashes,
		Links:        entries[0].Links,
		Attrs:        entries[0].Metadata.Attrs,
	}
	c := &resourcesync.Change{Type: resourcesync.Created, Datetime: time.Now(), Resource: *r}
	b := make([]byte, 0, 1<<16)
	var e Entry
	for name, f := range map[string]func(){
		"head and tail": func() { AppendTail(AppendHead(b, &h), &h) },
		"full entry":    func() { AppendEntry(b, &h, &entries[0]) },
		"resource":      func() { e.SetResource(r); AppendEntry(b, &h, &e) },
		"change":        func() { e.SetChange(c); AppendEntry(b, &h, &e) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
