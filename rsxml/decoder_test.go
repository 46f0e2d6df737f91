package rsxml

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/resourcesync-go/resourcesync"
)

const (
	urlset       = `<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `">`
	sitemapindex = `<sitemapindex xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `">`
	resourceList = urlset + `<rs:md capability="resourcelist" at="2025-05-01T00:00:00Z"/>`
	changeList   = urlset + `<rs:md capability="changelist" from="2025-05-01T00:00:00Z" until="2025-05-02T00:00:00Z"/>`
)

func decode(data string) (Head, []Entry, error) {
	return Decode(strings.NewReader(data))
}

// TestDecodeAccepts decodes valid documents that differ from the examples.
func TestDecodeAccepts(t *testing.T) {
	for name, data := range map[string]string{
		"no entries":          resourceList + `</urlset>`,
		"empty root":          `<urlset xmlns="` + SitemapNS + `"/>`,
		"plain sitemap":       `<urlset xmlns="` + SitemapNS + `"><url><loc>https://example.org/</loc></url></urlset>`,
		"plain index":         `<sitemapindex xmlns="` + SitemapNS + `"><sitemap><loc>https://example.org/</loc></sitemap></sitemapindex>`,
		"byte order mark":     "\uFEFF" + `<?xml version="1.0"?>` + resourceList + `</urlset>`,
		"encoding in capital": `<?xml version="1.0" encoding="Utf-8"?>` + resourceList + `</urlset>`,
		"comments and more":   "<?xml-stylesheet href='a'?><!-- a -->" + resourceList + "<!-- b --></urlset> <!-- c -->\n<?d e?>",
		"other prefixes": `<s:urlset xmlns:s="` + SitemapNS + `" xmlns="` + TermsNS + `">` +
			`<md capability="resourcelist" at="2025-05-01T00:00:00Z"/><s:url><s:loc>https://example.org/</s:loc></s:url></s:urlset>`,
		"schema location": `<urlset xmlns="` + SitemapNS + `" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"></urlset>`,
		"foreign elements": resourceList + `<i:a xmlns:i="urn:i">text<i:b c="d"/></i:a><url><loc>https://example.org/</loc>` +
			`<i:c xmlns:i="urn:i"><loc/>text</i:c></url><i:d xmlns:i="urn:i"/></urlset>`,
		"long loc":               resourceList + `<url><loc>` + longURI + `</loc></url></urlset>`,
		"foreign element in loc": resourceList + `<url><loc>https://example.org/<a xmlns="urn:a">b</a></loc></url></urlset>`,
		"priority":               resourceList + `<url><loc>https://example.org/</loc><changefreq>never</changefreq><priority>0.5</priority><rs:md/></url></urlset>`,
		"links before md":        resourceList + `<url><loc>https://example.org/</loc><rs:ln rel="a" href="b:"/><rs:md length="1"/><rs:ln rel="a" href="b:"/></url></urlset>`,
		"unknown capability":     urlset + `<rs:md capability="x-archive" at="2025-05-01"/><url><loc>b:</loc><rs:md path="x" change="deleted" at="2025"/></url></urlset>`,
		"index of sources":       sitemapindex + `<rs:md capability="description"/><sitemap><loc>https://example.org/</loc></sitemap></sitemapindex>`,
		"white space":            resourceList + "\r\n<url>\t<loc>\n https://example.org/ \n</loc><rs:md length=' 1 ' hash='\n\ta:b\r\n c:d '/></url></urlset>",
		"equal datetimes": changeList + `<url><loc>b:</loc><rs:md change="created" datetime="2025-05-01T00:00:00Z"/></url>` +
			`<url><loc>b:</loc><rs:md change="updated" datetime="2025-05-01T00:00:00Z"/></url>` +
			`<url><loc>b:</loc><rs:md change="updated"/></url>` +
			`<url><loc>b:</loc><rs:md change="deleted" datetime="2025-05-02T00:00:00Z"/></url></urlset>`,
		"deleted without path": urlset + `<rs:md capability="changedump-manifest" from="2025-05-01T00:00:00Z"/>` +
			`<url><loc>b:</loc><rs:md change="deleted"/></url></urlset>`,
		"path of a patch": urlset + `<rs:md capability="changedump-manifest" from="2025-05-01T00:00:00Z"/>` +
			`<url><loc>b:</loc><rs:md change="updated" path="/a"/><rs:ln rel="x:patch" href="b:p" path="/p"/></url></urlset>`,
	} {
		if _, _, err := decode(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeValues(t *testing.T) {
	_, entries, err := decode(`<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `" xmlns:c="urn:c"><rs:md capability="other"/>
		<url>
			<loc><![CDATA[https://example.org/?a&]]>amp;b&#x3D;c</loc>
			<lastmod>2025-05-01T14:30+02:00</lastmod>
			<rs:md c:shelf="&#9;1" hash="md5:Zz_ sha-256:a:b" length="007"/>
			<rs:ln rel="a" href="b:" pri="999999" xml:lang="en" modified="2025-05"/>
		</url></urlset>`)
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{
		Loc:     "https://example.org/?a&amp;b=c",
		LastMod: date("2025-05-01T12:30:00Z"),
		Metadata: Metadata{
			Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "Zz_"}, {Algorithm: "sha-256", Digest: "a:b"}},
			Length: resourcesync.Bytes(7),
			Attrs:  []resourcesync.Attr{{Space: "urn:c", Name: "shelf", Value: "\t1"}},
		},
		Links: []resourcesync.Link{{
			Rel: "a", Href: "b:", Pri: 999999, Modified: date("2025-05-01T00:00:00Z"),
			Attrs: []resourcesync.Attr{{Space: xmlNS, Name: "lang", Value: "en"}},
		}},
	}
	if len(entries) != 1 || !reflect.DeepEqual(entries[0], want) {
		t.Errorf("got %+v, want %+v", entries, want)
	}
}

func TestDatetime(t *testing.T) {
	for s, want := range map[string]string{
		"2025":                           "2025-01-01T00:00:00Z",
		"2025-05":                        "2025-05-01T00:00:00Z",
		"2025-05-31":                     "2025-05-31T00:00:00Z",
		"2025-05-01T12:30Z":              "2025-05-01T12:30:00Z",
		"2025-05-01T12:30-01:30":         "2025-05-01T14:00:00Z",
		"2025-05-01T12:30:15Z":           "2025-05-01T12:30:15Z",
		"2025-05-01T12:30:15.1Z":         "2025-05-01T12:30:15.1Z",
		"2025-05-01T12:30:15.123456789Z": "2025-05-01T12:30:15.123456789Z",
		"0000-01-01":                     "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z":           "9999-12-31T23:59:59Z",
	} {
		if got, ok := parseDatetime(s); !ok || string(appendTime(nil, got)) != want {
			t.Errorf("%s: got %v, %v, want %s", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "25", "202", "2025-5", "2025-13", "2025-05-32", "2025-02-29", "20250501", "2025-05-01T", "2025-05-01T12Z",
		"2025-05-01T12:30", "2025-05-01T12:30:15", "2025-05-01T12:30:60Z", "2025-05-01T24:00:00Z", "2025-05-01T1:30:15Z",
		"2025-05-01T12:30:15,5Z", "2025-05-01T12:30:15.Z", "2025-05-01t12:30:15z", "2025-05-01 12:30:15Z", "2025-05-01 12:30:15", "2025-05-01 14:30:15+02:00", "2025-05-01T12:30:15+0200",
		"2025-05-01T12:30:15+24:00", "2025-05-01T12:30:15+01:60", "2025-05-01T12:30:15+1:000", "2025-05-01T12:30:15Z ", "+2025-05-01", "-001-05-01", "12025-05-01", "２０２５",
		"0001-01-01", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
	} {
		if got, ok := parseDatetime(s); ok {
			t.Errorf("%s: got %v", s, got)
		}
	}
}

// TestEntries checks the rules of the iterator.
func TestEntries(t *testing.T) {
	const entry = `<url><loc>https://example.org/</loc></url>`
	count := func(d *Decoder, stop int) (n int, err error) {
		for e, e1 := range d.Entries() {
			if err != nil {
				t.Error("goes on after an error")
			}
			if err = e1; err != nil {
				if !reflect.DeepEqual(e, Entry{}) {
					t.Errorf("an entry with an error: %+v", e)
				}
				continue
			}
			if n++; n == stop {
				break
			}
		}
		return n, err
	}

	d := NewDecoder(strings.NewReader(resourceList + strings.Repeat(entry, 5) + `</urlset>`))
	if n, err := count(d, 2); n != 2 || err != nil {
		t.Errorf("first range: %d, %v", n, err)
	}
	if h, err := d.Head(); err != nil || h.Metadata.Capability != resourcesync.ResourceList {
		t.Errorf("head after entries: %+v, %v", h, err)
	}
	if n, err := count(d, -1); n != 3 || err != nil {
		t.Errorf("second range: %d, %v", n, err)
	}
	if n, err := count(d, -1); n != 0 || err != nil {
		t.Errorf("third range: %d, %v", n, err)
	}

	d = NewDecoder(strings.NewReader(resourceList + strings.Repeat(entry, 5) + `<url/></urlset>`))
	for range 2 {
		if _, err := count(d, -1); err == nil {
			t.Error("no error in an entry")
		}
	}
	if _, err := d.Head(); err != nil {
		t.Errorf("head of a document with a bad entry: %v", err)
	}

	d = NewDecoder(strings.NewReader(`<html/>`))
	h, err := d.Head()
	if err == nil || !reflect.DeepEqual(h, Head{}) {
		t.Errorf("head of HTML: %+v, %v", h, err)
	}
	if n, e := count(d, -1); n != 0 || e != err {
		t.Errorf("entries of HTML: %d, %v", n, e)
	}

	NewDecoder(iotest.ErrReader(errors.New("read"))).Entries() // and no panic: nothing is read
}

func TestDecodeReader(t *testing.T) {
	h, entries := fullDocument()
	data := encode(h, entries)
	_, want, err := Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"one byte":  iotest.OneByteReader(bytes.NewReader(data)),
		"data, EOF": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		if _, got, err := Decode(r); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	broken := errors.New("broken pipe")
	for n := 0; n < len(data)-1; n += 3 {
		_, _, err := Decode(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken)))
		if _, ok := errors.AsType[*SyntaxError](err); !errors.Is(err, broken) || ok {
			t.Fatalf("reading fails at %d: %v", n, err)
		}
		_, _, err = Decode(bytes.NewReader(data[:n]))
		if _, ok := errors.AsType[*SyntaxError](err); !ok {
			t.Fatalf("ends at %d: %v", n, err)
		}
	}
}

// TestLimits moves counters and limits rather than reading 50 MB.
func TestLimits(t *testing.T) {
	const entry = `<url><loc>https://example.org/</loc></url>`
	long := strings.Repeat("a", 1000)
	for _, test := range []struct {
		name    string
		data    string
		prepare func(*Decoder)
		section string // "" if the limit is kept
	}{
		{"just short enough", resourceList + entry + `</urlset>`, func(d *Decoder) {
			d.src.document = MaxBytes - len(resourceList+entry+`</urlset>`)
		}, ""},
		{"a byte too long", resourceList + entry + `</urlset>`, func(d *Decoder) {
			d.src.document = MaxBytes - len(resourceList+entry+`</urlset>`) + 1
		}, core7},
		{"a byte too long with a byte order mark", "\uFEFF" + resourceList + entry + `</urlset>`, func(d *Decoder) {
			d.src.document = MaxBytes - len("\uFEFF"+resourceList+entry+`</urlset>`) + 1
		}, core7},
		{"as many entries", resourceList + entry + entry + `</urlset>`, func(d *Decoder) { d.Head(); d.entries = MaxEntries - 2 }, ""},
		{"too many entries", resourceList + entry + entry + `</urlset>`, func(d *Decoder) { d.Head(); d.entries = MaxEntries - 1 }, core7},
		{"head as long as may be", resourceList + `</urlset>`, func(d *Decoder) { d.src.limit = len(resourceList + `</urlset>`) }, ""},
		{"head too long", resourceList + `</urlset>`, func(d *Decoder) { d.src.limit = len(resourceList) }, ownLimit},
		{"long tag", urlset + `<rs:md a="` + long, func(d *Decoder) { d.src.limit = 1000 }, ownLimit},
		{"long first entry", resourceList + `<url><loc>` + long, func(d *Decoder) { d.src.limit = 1000 }, ownLimit},
		{"long entry", resourceList + entry + `<url><loc>` + long, func(d *Decoder) { d.src.limit = 1000 }, ownLimit},
		{"long foreign element", resourceList + entry + `<a xmlns="urn:a">` + long, func(d *Decoder) { d.src.limit = 1000 }, ownLimit},
		{"long, but of short entries", resourceList + strings.Repeat(entry, 100) + `</urlset>`, func(d *Decoder) { d.src.limit = 1000 }, ""},
	} {
		d := NewDecoder(strings.NewReader(test.data))
		test.prepare(d)
		var err error
		for _, err = range d.Entries() {
		}
		if syntax, ok := errors.AsType[*SyntaxError](err); ok != (test.section != "") || ok && syntax.Section != test.section {
			t.Errorf("%s: %.300v, want section %q", test.name, err, test.section)
		}
	}
}
