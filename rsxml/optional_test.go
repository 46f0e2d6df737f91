package rsxml_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	optionalHead = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
`
	optionalIndexHead = `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
`
	optionalPackage = `<url>
<loc>https://example.org/1.zip</loc>
`
)

// TestOptional reads documents with and without what the specification allows them to have, which
// stands between « and », and writes them again. Each row is a sentence of docs/requirements.md.
func TestOptional(t *testing.T) {
	optional := regexp.MustCompile(`«([^»]*)»`)
	for name, document := range map[string]string{
		"CO123_completed": optionalHead + `<rs:md capability="resourcelist" at="2025-05-01T12:00:00Z"« completed="2025-05-01T12:01:00Z"»` + "/>\n</urlset>\n",
		"CO135_completed": optionalIndexHead + `<rs:md capability="resourcelist" at="2025-05-01T12:00:00Z"« completed="2025-05-01T12:01:00Z"»` + "/>\n<sitemap>\n<loc>https://example.org/1.xml</loc>\n</sitemap>\n</sitemapindex>\n",
		"CO150_completed": optionalHead + `<rs:md capability="resourcedump" at="2025-05-01T12:00:00Z"« completed="2025-05-01T12:01:00Z"»` + "/>\n</urlset>\n",
		"CO155_lastmod":   optionalHead + `<rs:md capability="resourcedump" at="2025-05-01T12:00:00Z"/>` + "\n" + optionalPackage + "«<lastmod>2025-05-01T11:00:00Z</lastmod>\n»</url>\n</urlset>\n",
		"CO157_package":   optionalHead + `<rs:md capability="resourcedump" at="2025-05-01T12:00:00Z"/>` + "\n" + optionalPackage + `<rs:md« at="2025-05-01T11:00:00Z"»« completed="2025-05-01T11:30:00Z"»« hash="sha-256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"» length="8" type="application/zip"/>` + "\n</url>\n</urlset>\n",
		"CO166_completed": optionalHead + `<rs:md capability="resourcedump-manifest" at="2025-05-01T12:00:00Z"« completed="2025-05-01T12:01:00Z"»` + "/>\n</urlset>\n",
		"CO209_lastmod":   optionalIndexHead + `<rs:md capability="changelist" from="2025-05-01T12:00:00.000000Z"/>` + "\n<sitemap>\n<loc>https://example.org/1.xml</loc>\n«<lastmod>2025-05-01T11:00:00Z</lastmod>\n»</sitemap>\n</sitemapindex>\n",
		"CO228_lastmod":   optionalHead + `<rs:md capability="changedump" from="2025-05-01T12:00:00.000000Z"/>` + "\n" + optionalPackage + "«<lastmod>2025-05-01T11:00:00Z</lastmod>\n»</url>\n</urlset>\n",
	} {
		t.Run(name, func(t *testing.T) {
			rewrites(t, optional.ReplaceAllString(document, "$1"))
			rewrites(t, optional.ReplaceAllString(document, ""))
		})
	}
	t.Run("CO44_completed", func(t *testing.T) {
		const completed = ` completed="2025-05-01T12:01:00Z"/>` + "\n</urlset>\n"
		rewrites(t, optionalHead+`<rs:md capability="resourcelist" at="2025-05-01T12:00:00Z"`+completed)
		changes := optionalHead + `<rs:md capability="changelist" from="2025-05-01T12:00:00.000000Z"` + completed
		if _, _, err := rsxml.Decode(strings.NewReader(changes)); err == nil {
			t.Error("a Change List, which has no at, may have completed")
		}
	})
}

// rewrites reads a document strictly, writes it, and compares both.
func rewrites(t *testing.T, document string) {
	t.Helper()
	h, entries, err := rsxml.Decode(strings.NewReader(document))
	if err != nil {
		t.Errorf("%v\n%s", err, document)
		return
	}
	b := rsxml.AppendHead(nil, &h)
	for i := range entries {
		b, _ = rsxml.AppendEntry(b, &h, &entries[i])
	}
	if b = rsxml.AppendTail(b, &h); string(b) != document {
		t.Errorf("read and written\n%s\nis\n%s", document, b)
	}
}
