package sitemap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReadEntries(t *testing.T) {
	day := "2026-01-02T03:04:05Z"
	for _, tt := range []struct {
		name, text, want string
		fails            bool
	}{
		{"sitemap", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc> https://a/1?x=1&amp;y </loc><lastmod>2026-01-02T04:04:05+01:00</lastmod></url><url><loc>https://a/2</loc></url></urlset>`,
			"https://a/1?x=1&y " + day + "\nhttps://a/2 -\n", false},
		{"extensions", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" xmlns:x="http://www.w3.org/1999/xhtml"><url><loc>https://a/1</loc><i:image><i:loc>https://a/i.png</i:loc></i:image><i:loc>https://a/j</i:loc><x:link rel="alternate" href="https://a/de"/></url></urlset>`,
			"https://a/1 -\n", false},
		{"no namespace, date alone", `<urlset><url><loc>https://a/1</loc><lastmod>2026-01-02</lastmod></url></urlset>`, "https://a/1 2026-01-02T00:00:00Z\n", false},
		{"CDATA and comments", `<urlset><!-- <url> --><url><loc><![CDATA[https://a/1?a&b]]></loc></url></urlset>`, "https://a/1?a&b -\n", false},
		{"Latin 1", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><urlset><url><loc>https://a/\xE9</loc></url></urlset>", "https://a/é -\n", false},
		{"index", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>https://a/s.xml.gz</loc><lastmod>2026-01-02</lastmod></sitemap></sitemapindex>`, "index https://a/s.xml.gz 2026-01-02T00:00:00Z\n", false},
		{"RSS", `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>https://a/</link><atom:link href="https://a/feed"/><item><title>1</title><link>https://a/1</link><pubDate>Fri, 02 Jan 2026 03:04:05 +0000</pubDate></item></channel></rss>`, "https://a/1 " + day + "\n", false},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a/"/><entry><link rel="self" href="https://a/x"/><link href="https://a/1"/><updated>` + day + `</updated></entry></feed>`, "https://a/1 " + day + "\n", false},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><item><link>https://a/1</link></item></rdf:RDF>`, "https://a/1 -\n", false},
		{"text", "\uFEFFhttps://a/1\r\n\r\nhttps://a/2", "https://a/1 -\nhttps://a/2 -\n", false},
		{"WordPress", `[{"id":1,"link":"https://a/1","modified_gmt":"2026-01-02T03:04:05"},{"id":2}]`, "https://a/1 " + day + "\n", false},
		{"empty sitemap", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>`, "", false},
		{"cut off", `<urlset><url><loc>https://a/1</loc></url><url>`, "https://a/1 -\n", true},
		{"unknown entity", `<!DOCTYPE urlset [<!ENTITY a "b">]><urlset><url><loc>https://a/&a;</loc></url></urlset>`, "", true},
		{"HTML", `<!doctype html><html><body>200 for everything</body></html>`, "", true},
		{"nothing", "", "", true},
		{"JSON of something else", `[1,2]`, "", true},
		{"prose", "not found", "", true},
		{"deep", "<urlset>" + strings.Repeat("<a>", 100), "", true},
		{"endless comment", "<urlset><!--" + strings.Repeat("a", 2*maxToken), "", true},
		{"endless attribute", "<urlset><url x='" + strings.Repeat("a", 2*maxToken), "", true},
		{"endless text of no interest", "<urlset><other>" + strings.Repeat("a", 2*maxToken), "", true},
		{"much text in all", "<urlset>" + strings.Repeat("<!--"+strings.Repeat("a", maxToken/2)+"-->", 3) + "<url><loc>https://a/1</loc></url></urlset>", "https://a/1 -\n", false},
		{"endless text", "<urlset><url><loc>" + strings.Repeat("a", 10_000), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			err := readEntries(strings.NewReader(tt.text), func(e entry) error {
				if e.isIndex {
					got.WriteString("index ")
				}
				when := "-"
				if !e.modified.IsZero() {
					when = e.modified.Format(time.RFC3339)
				}
				fmt.Fprintln(&got, e.loc, when)
				return nil
			})
			if got.String() != tt.want || (err != nil) != tt.fails {
				t.Errorf("%v, got\n%swant\n%s", err, &got, tt.want)
			}
		})
	}
}

func FuzzReadEntries(f *testing.F) {
	f.Add(`<urlset><url><loc>https://a/1</loc><lastmod>2026-01-02</lastmod></url></urlset>`)
	f.Add("https://a/1\n")
	f.Add(`[{"link":"https://a/1"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		errStop := errors.New("stop")
		n := 0
		err := readEntries(strings.NewReader(text), func(e entry) error {
			if e.loc == "" || len(e.loc) > maxFeed {
				t.Errorf("%q", e.loc)
			}
			if n++; n == 3 {
				return errStop
			}
			return nil
		})
		if n == 3 && err != errStop {
			t.Errorf("went on after an error: %v", err)
		}
	})
}
