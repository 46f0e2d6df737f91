package rsxml

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestAppendTextWords puts every byte at every place of texts of all lengths
// around those of words: the fast way must take none that the slow one escapes.
func TestAppendTextWords(t *testing.T) {
	const long = 26
	buf := make([]byte, long)
	for c := range 256 {
		for length := 1; length <= long; length++ {
			for at := range length {
				text := buf[:length]
				for i := range text {
					text[i] = "(z~a"[i%4]
				}
				text[at] = byte(c)
				s := string(text)
				got, want := appendText([]byte("x"), s), appendEscaped([]byte("x"), s)
				if !bytes.Equal(got, want) {
					t.Fatalf("%q: got %q, want %q", s, got, want)
				}
			}
		}
	}
}

func TestAppendText(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"https://example.org/a%20b!#": "https://example.org/a%20b!#",
		`<a b="c" d='e'>&amp;]]>`:     "&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;amp;]]&gt;",
		"a\tb\nc\rd e":                "a&#9;b&#10;c&#13;d e",
		"a\x00b\x1fc\x7f":             "a\uFFFDb\uFFFDc\x7f",
		"é日本\U0001F600":               "é日本\U0001F600",
		"\uFFFE\uFFFF\uFFFD\uFDD0":    "\uFFFD\uFFFD\uFFFD\uFDD0",
		"\xff\xc3\xe2\x82":            "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\x80":                "\uFFFD\uFFFD\uFFFD", // a surrogate
	} {
		if got := string(appendText(nil, text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzEncodeText puts a text wherever a document has one. encoding/xml must
// read the same text there, but for what XML cannot express, which encoding/xml
// itself replaces by U+FFFD.
func FuzzEncodeText(f *testing.F) {
	for _, s := range []string{
		"", "plain", "a<b>&c;", `"'`, "]]>", "<![CDATA[", "-->", "\t\n\r \u0085\u2028", "\x00\x1f\x7f",
		"\uFFFE\uFFFF", "\xff\xfe", "\xed\xa0\x80", "é日\U0001F600", "&#0;", "&lt;", strings.Repeat("&", 40),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want string
		escaped := new(bytes.Buffer)
		if err := xml.EscapeText(escaped, []byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal([]byte("<a>"+escaped.String()+"</a>"), &want); err != nil {
			t.Fatal(err)
		}

		attrs := []resourcesync.Attr{{Space: "urn:" + s, Name: "attr", Value: s}, {Space: "urn:", Name: "value", Value: s}}
		h := Head{Metadata: Metadata{Capability: resourcesync.Capability("x" + s)}}
		e := Entry{Loc: s, Metadata: Metadata{
			Capability: resourcesync.Capability(s), Change: resourcesync.ChangeType(s), Path: s, Attrs: attrs,
		}}
		data := encode(h, []Entry{e})

		type md struct {
			Capability string     `xml:"capability,attr"`
			Change     string     `xml:"change,attr"`
			Path       string     `xml:"path,attr"`
			Any        []xml.Attr `xml:",any,attr"`
		}
		var got struct {
			XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
			MD      md       `xml:"http://www.openarchives.org/rs/terms/ md"`
			URL     struct {
				Loc string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
				MD  md     `xml:"http://www.openarchives.org/rs/terms/ md"`
			} `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
		}
		if err := xml.Unmarshal(data, &got); err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		m := got.URL.MD
		if got.URL.Loc != want || got.MD.Capability != "x"+want || m.Capability != want || m.Change != want || m.Path != want {
			t.Errorf("%q: got %+v in\n%s", s, got, data)
		}
		for _, a := range []xml.Attr{
			{Name: xml.Name{Space: "urn:" + want, Local: "attr"}, Value: want},
			{Name: xml.Name{Space: "urn:", Local: "value"}, Value: want},
		} {
			// A namespace that XML cannot express would become another one.
			if writable := s == want && len(s) < MaxURI-4; slices.Contains(m.Any, a) != (writable || a.Name.Local == "value") {
				t.Errorf("%q: attributes %q in\n%s", s, m.Any, data)
			}
		}
	})
}
