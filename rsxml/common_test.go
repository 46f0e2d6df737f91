package rsxml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// readings returns all that a decoder says about a document, without encoding/xml for entries
// in the common form if common is true.
func readings(r io.Reader, tolerant, common bool) (said []string) {
	d := NewDecoder(r)
	if tolerant {
		d.Tolerate(func(e *SyntaxError) { said = append(said, fmt.Sprintf("%+v", *e)) })
	}
	h, err := d.Head()
	said = append(said, fmt.Sprintf("%+v %v", h, err))
	if !common {
		d.common = false
	}
	for e, err := range d.Entries() {
		line, column := d.Position()
		said = append(said, fmt.Sprintf("%d %d %+v %v", line, column, e, err))
		if syntax, ok := errors.AsType[*SyntaxError](err); ok {
			said = append(said, fmt.Sprintf("%+v", *syntax))
		}
	}
	return said
}

// checkCommon compares what is said about a document with and without the common form.
func checkCommon(t *testing.T, data []byte) {
	t.Helper()
	for _, tolerant := range []bool{false, true} {
		want := readings(bytes.NewReader(data), tolerant, false)
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(data), "small parts": iotest.HalfReader(bytes.NewReader(data)), "with EOF": iotest.DataErrReader(bytes.NewReader(data)),
		} {
			if got := readings(r, tolerant, true); !slices.Equal(got, want) {
				t.Fatalf("tolerant %v, %s:\n%s\nsays\n%s\nwant\n%s", tolerant, name, data, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// commonEntries are entries of the common form and others that look like it.
var commonEntries = []string{
	`<url><loc>https://example.org/a</loc></url>`,
	"\n  <url>\r\n\t<loc>\n https://example.org/?a=1&amp;b=&apos;2&apos;\n</loc>\n<lastmod>2025-05-01T10:00:00Z</lastmod>\n <rs:md hash=\"md5:00 sha-256:ff\" length='7'\n type=\"text/html\" />\n</url>\n",
	`<url><loc>b:1</loc><lastmod>2025</lastmod><changefreq>daily</changefreq><priority>0.5</priority><rs:ln rel="up" href="b:2" pri="3"/><rs:md change="updated" datetime="2025-05-01T10:00:00.5Z"/></url>`,
	`<url><loc>b:1</loc><rs:ln rel="up" href="b:2" rel="up"/></url>`,
	`<url><loc>b:1</loc><rs:md length="1" length="1"/></url>`,
	`<url><loc>b:1</loc><rs:md length="1"hash="md5:00"/></url>`,
	`<url><loc>b:1</loc><rs:md path="/]]>é&lt;"/><rs:md/></url>`,
	`<url><lastmod>2025</lastmod><loc>b:1</loc></url>`,
	`<url><loc>b:1]]></loc></url>`,
	`<url><loc>b:1&amp</loc></url>`,
	`<url><loc>b:1&nbsp;</loc></url>`,
	`<url><loc>b:1<!-- </url> --></loc></url>`,
	`<url><loc>b:1<![CDATA[2]]></loc></url>`,
	`<url a="b"><loc >b:1</loc ></url>`,
	`<url><loc>no URI</loc><lastmod>yesterday</lastmod></url>`,
	`<url></url>`, `<url/>`, `<urls></url>`, `<url><loc>b:1</loc><url></url></url>`, `text<url><loc>b:1</loc></url>`,
	`<sitemap><loc>b:1</loc></sitemap>`,
	`<url xmlns:rs="urn:other"><loc>b:1</loc><rs:md length="1"/></url>`,
	`<url><loc>b:1</loc><rs:mdx length="1"/><rs:md rs:length="1"/></url>`,
	`<url><loc>b:1</loc><rs:md length="&#49;" xmlns="urn:a"/></url>`,
	"<url><loc>b:1</loc>\x00</url>", "<url><loc>b:\xff1</loc></url>",
}

// TestCommon reads documents that are random mixtures, whole and damaged.
func TestCommon(t *testing.T) {
	heads := []string{
		resourceList, changeList, urlset, "\uFEFF<?xml version=\"1.0\"?>\n" + resourceList, sitemapindex,
		`<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `" xmlns:rs="urn:other">`,
		`<urlset xmlns="` + SitemapNS + `" xmlns:rs="https://www.openarchives.org/rs/terms">`,
		`<urlset xmlns="urn:a" xmlns:rs="` + TermsNS + `">`, `<s:urlset xmlns:s="` + SitemapNS + `" xmlns:rs="` + TermsNS + `">`,
	}
	const damage = "<>&;\"'=/ \n\r]-!?:arl\x00\xff"
	for seed := range uint64(needs.Size(600, 3000)) {
		g := rand.New(rand.NewPCG(seed, 0))
		data := []byte(heads[g.IntN(len(heads))*g.IntN(2)])
		for range g.IntN(8) {
			data = append(data, commonEntries[g.IntN(len(commonEntries))*g.IntN(2)]...)
		}
		data = append(data, "</urlset>\n"...)
		for range g.IntN(3) * g.IntN(2) {
			at := g.IntN(len(data))
			data = slices.Replace(data, at, min(at+g.IntN(3), len(data)), damage[g.IntN(len(damage))])
		}
		checkCommon(t, data)
	}
}

// TestCommonRandom reads what the encoder writes, and holds that encoding/xml reads none of it
// but the first entry and the end.
func TestCommonRandom(t *testing.T) {
	for doc := range allRules {
		for seed := range uint64(5) {
			g := &generator{rand.New(rand.NewPCG(seed, 0)), allRules[doc]}
			h, entries := g.document(doc)
			checkCommon(t, encode(h, entries))
		}
	}
	h := Head{Metadata: Metadata{Capability: resourcesync.ResourceList, At: date("2025-05-01T12:00:00Z")}}
	resources := benchResources()[:1000]
	entries := make([]Entry, len(resources))
	for i := range resources {
		resources[i].URI += "?a&b"
		entries[i].SetResource(&resources[i])
	}
	data := encode(h, entries)
	d := NewDecoder(bytes.NewReader(data))
	n := 0
	for _, err := range d.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if seen := d.xml.InputOffset(); n != len(entries) || seen > 2000 {
		t.Errorf("%d entries; encoding/xml has read %d of %d bytes", n, seen, len(data))
	}
	if d.src.document != len(data) {
		t.Errorf("counts %d bytes, want %d", d.src.document, len(data))
	}
	checkCommon(t, data)
}

// TestCommonLimits holds that the limits are those of encoding/xml.
func TestCommonLimits(t *testing.T) {
	entry := commonEntries[1]
	long := `<url><loc>https://example.org/` + strings.Repeat("a", bufferSize) + `</loc></url>`
	data := resourceList + strings.Repeat(entry, 20) + long + strings.Repeat(entry, 20) + `</urlset>`
	checkCommon(t, []byte(data))
	checkCommon(t, []byte(resourceList+strings.Repeat(`<url><loc>b:1</loc></url >`, 1000)+entry+`</urlset>`))
	for _, test := range []struct {
		name    string
		prepare func(*Decoder)
	}{
		{"bytes", func(d *Decoder) { d.src.document += MaxBytes - 5000 }},
		{"bytes, exactly", func(d *Decoder) { d.src.document += MaxBytes - len(data) }},
		{"entries", func(d *Decoder) { d.entries = MaxEntries - 10 }},
		{"element", func(d *Decoder) { d.src.limit = len(entry) - 1 }},
	} {
		for _, tolerant := range []bool{false, true} {
			var said [2][]string
			for i, common := range []bool{false, true} {
				d := NewDecoder(strings.NewReader(data))
				if tolerant {
					d.Tolerate(func(e *SyntaxError) { said[i] = append(said[i], e.Error()) })
				}
				d.Head()
				d.common = d.common && common
				test.prepare(d)
				for e, err := range d.Entries() {
					said[i] = append(said[i], fmt.Sprint(e, err))
				}
			}
			if !slices.Equal(said[0], said[1]) {
				t.Errorf("%s, tolerant %v: says\n%.5000s\nwant\n%.5000s", test.name, tolerant, said[1], said[0])
			}
		}
	}
}

// TestCommonReadError returns an error of the underlying reader once what it has read is used
// up, also if the reader has other errors afterwards.
func TestCommonReadError(t *testing.T) {
	broken := errors.New("broken pipe")
	data := resourceList + strings.Repeat(commonEntries[0], 5) + `<url><loc>`
	r := io.MultiReader(strings.NewReader(data), &onceReader{broken})
	n := 0
	var failed error
	for _, err := range NewDecoder(r).Entries() {
		if failed = err; err == nil {
			n++
		}
	}
	if n != 5 || !errors.Is(failed, broken) {
		t.Errorf("%d entries and %v, want 5 and %v", n, failed, broken)
	}
}

// A onceReader fails once, and is at its end afterwards.
type onceReader struct{ err error }

func (r *onceReader) Read([]byte) (int, error) {
	err := r.err
	r.err = io.EOF
	return 0, err
}

func FuzzCommon(f *testing.F) {
	for _, file := range documents(f, goldenDir) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, entry := range commonEntries {
		f.Add([]byte(resourceList + commonEntries[0] + entry + commonEntries[1] + `</urlset>`))
		f.Add([]byte(changeList + entry + commonEntries[2] + entry + `</urlset>`))
	}
	f.Fuzz(checkCommon)
}
