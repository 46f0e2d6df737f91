package rsxml

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// A badDocument breaks one rule, at the place marked by ▮. The error says rule
// and section.
type badDocument struct{ name, section, rule, data string }

// notDocuments are not even XML documents with one of the two roots.
var notDocuments = []badDocument{
	{"empty", xmlSpec, "empty", `▮`},
	{"not XML", xmlSpec, "before the root", `▮hello`},
	{"text before the root", xmlSpec, "before the root", "<?xml version='1.0'?>▮\nhello <urlset/>"},
	{"unclosed", xmlSpec, "unexpected EOF", resourceList + "\n▮"},
	{"wrong end", xmlSpec, "closed by", resourceList + "<url>\n</loc>▮</url></urlset>"},
	{"two roots", xmlSpec, "second root", resourceList + "</urlset>\n▮<urlset/>"},
	{"text after the root", xmlSpec, "after the root", resourceList + "</urlset>▮ hello"},
	{"XML 1.1", xmlSpec, "version", `<?xml version="1.1"?>▮` + resourceList + "</urlset>"},
	{"Latin-1", sitemapProtocol, "UTF-8", `<?xml version="1.0" encoding="ISO-8859-1"?>▮` + resourceList + "</urlset>"},
	{"invalid UTF-8", xmlSpec, "UTF-8", resourceList + "<url><loc>\xff▮</loc></url></urlset>"},
	{"control character", xmlSpec, "character", resourceList + "<url><loc>&#1;▮</loc></url></urlset>"},
	{"document type", ownLimit, "document type", `<?xml version="1.0"?>` + "\n" + `▮<!DOCTYPE urlset [<!ENTITY a "b">]>` + resourceList + "</urlset>"},
	{"entity", xmlSpec, "entity", resourceList + "<url><loc>&a;▮</loc></url></urlset>"},
	{"attribute twice", xmlSpec, "repeated", urlset + "\n▮" + `<rs:md capability="a" capability="b"/></urlset>`},
	{"foreign attribute twice", xmlSpec, "repeated", `<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `" xmlns:a="urn:a" xmlns:b="urn:a">▮<rs:md capability="a" a:c="" b:c=""/></urlset>`},
	{"empty namespace", xmlSpec, "without a namespace", `▮<urlset xmlns="` + SitemapNS + `" xmlns:rs=""/>`},
	{"wrong root", core7, "root", `▮<rss/>`},
	{"root of another version", core4, `rs/2.0" is not a known one`, `▮<urlset xmlns="http://www.openarchives.org/rs/2.0"/>`},
	{"terms of another version", core4, `rs/2.0" is not a known one`, `<urlset xmlns="` + SitemapNS + `" xmlns:rs="http://www.openarchives.org/rs/2.0">▮<rs:md capability="capabilitylist"/></urlset>`},
	{"entry with terms of another version", core4, `RS/terms/1.1" is not a known one`, resourceList + `<url><loc>b:</loc>▮<md xmlns="https://openarchives.org/RS/terms/1.1" length="1"/></url></urlset>`},
	{"attribute of another version", core4, `rs" is not a known one`, `<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `" xmlns:a="http://openarchives.org/rs">▮<rs:md a:capability="a"/></urlset>`},
}

// badDocuments break a rule of the specifications.
var badDocuments = []badDocument{
	// XML, as far as encoding/xml does not look.
	{"undeclared element prefix", xmlSpec, `"rs" is not declared`, `<urlset xmlns="` + SitemapNS + `">▮<rs:md capability="resourcelist"/></urlset>`},
	{"undeclared attribute prefix", xmlSpec, `"x" is not declared`, urlset + `▮<rs:md capability="a" x:y="z"/></urlset>`},
	{"strange attribute name", xmlSpec, "invalid name", `<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `" xmlns:a="urn:a">▮<rs:md capability="a" a:1="b"/></urlset>`},

	// Namespaces and the root.
	{"root in no namespace", core4, "namespace of the root", `▮<urlset/>`},
	{"root in https", core4, "namespace of the root", `▮<urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"/>`},
	{"root in terms", core4, "namespace of the root", `▮<rs:urlset xmlns:rs="` + TermsNS + `"/>`},
	{"terms in https", core4, TermsNS, `<urlset xmlns="` + SitemapNS + `" xmlns:rs="https://www.openarchives.org/rs/terms/">▮<rs:md capability="a"/></urlset>`},
	{"terms without slash", core4, TermsNS, `<urlset xmlns="` + SitemapNS + `" xmlns:rs="http://www.openarchives.org/rs/terms">▮<rs:md capability="a"/></urlset>`},
	{"entry in https", core4, SitemapNS, resourceList + "\n" + `▮<url xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"/></urlset>`},
	{"entry in no namespace", core4, "no namespace", resourceList + `▮<url xmlns=""><loc>https://example.org/</loc></url></urlset>`},
	{"prefixed attribute", core7, "prefix", urlset + `▮<rs:md rs:capability="a"/></urlset>`},
	{"root with attribute", core7, `no attribute "version"`, `▮<urlset xmlns="` + SitemapNS + `" version="0.9"/>`},

	// Structure.
	{"unknown child of the root", sitemapProtocol, `"uri"`, resourceList + "\n▮<uri/></urlset>"},
	{"unknown child before entries", sitemapProtocol, `"uri"`, urlset + "▮<uri/></urlset>"},
	{"unknown child after an entry", sitemapProtocol, `"uri"`, resourceList + "<url><loc>b:</loc></url>▮<uri/></urlset>"},
	{"unknown terms child", sitemapProtocol, `"rs:meta"`, urlset + "▮<rs:meta/></urlset>"},
	{"text in the root", sitemapProtocol, "text", resourceList + "▮text</urlset>"},
	{"text between entries", sitemapProtocol, "text", resourceList + "<url><loc>b:</loc></url>▮\ntext</urlset>"},
	{"sitemap in urlset", core7, "sitemap, not a url", resourceList + "▮<sitemap><loc>b:</loc></sitemap></urlset>"},
	{"url in sitemapindex", core7, "url, not a sitemap", sitemapindex + `<rs:md capability="resourcelist" at="2025-05-01"/>▮<url><loc>b:</loc></url></sitemapindex>`},
	{"md repeated", core7, "repeated", urlset + `<rs:md capability="a"/>▮<rs:md capability="a"/></urlset>`},
	{"md after an entry", core7, "after an entry", `<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `"><url><loc>b:</loc></url>▮<rs:md capability="a"/></urlset>`},
	{"ln after an entry", core7, "after an entry", resourceList + "<url><loc>b:</loc></url>\n▮" + `<rs:ln rel="up" href="b:"/></urlset>`},
	{"md with child", sitemapProtocol, `rs:md has no child "url"`, urlset + `<rs:md capability="a">▮<url/></rs:md></urlset>`},
	{"ln with text", sitemapProtocol, "rs:ln has text", urlset + `<rs:ln rel="a" href="b:">▮text</rs:ln></urlset>`},
	{"entry with attribute", core7, `no attribute "id"`, resourceList + `▮<url id="1"><loc>b:</loc></url></urlset>`},
	{"entry with text", sitemapProtocol, "url has text", resourceList + `<url>▮text<loc>b:</loc></url></urlset>`},
	{"entry with unknown child", sitemapProtocol, `"title"`, resourceList + `<url><loc>b:</loc>▮<title/></url></urlset>`},
	{"loc with attribute", core7, `no attribute "a"`, resourceList + `<url>▮<loc a="b">b:</loc></url></urlset>`},
	{"loc with child", sitemapProtocol, `loc has no child "b"`, resourceList + `<url><loc>b:▮<b/></loc></url></urlset>`},
	{"loc with child in https", core4, TermsNS, resourceList + `<url><loc>b:▮<b xmlns="https://www.openarchives.org/rs/terms/"/></loc></url></urlset>`},
	{"child in https after an entry", core4, TermsNS, resourceList + `<url><loc>b:</loc></url>▮<b xmlns="https://www.openarchives.org/rs/terms/"/></urlset>`},
	{"no loc", core7, "no loc", resourceList + "\n\n  ▮<url></url></urlset>"},
	{"empty loc", core7, "not absolute", resourceList + "<url>▮<loc/></url></urlset>"},
	{"relative loc", core7, "not absolute", resourceList + "<url>\n▮<loc>/a</loc></url></urlset>"},
	{"long loc", sitemapProtocol, "2049 characters", resourceList + "<url>▮<loc>b:" + strings.Repeat("x", MaxURI-1) + "</loc></url></urlset>"},
	{"lastmod before loc", core7, "before loc", resourceList + "<url>▮<lastmod>2025-05-01</lastmod><loc>b:</loc></url></urlset>"},
	{"lastmod after changefreq", sitemapProtocol, "after changefreq", resourceList + "<url><loc>b:</loc><changefreq>daily</changefreq>▮<lastmod>2025-05-01</lastmod></url></urlset>"},
	{"lastmod after md", sitemapProtocol, "after rs:md", resourceList + "<url><loc>b:</loc><rs:md/>▮<lastmod>2025-05-01</lastmod></url></urlset>"},
	{"loc repeated", core7, "repeated", resourceList + "<url><loc>b:</loc>▮<loc>b:</loc></url></urlset>"},
	{"lastmod repeated", core7, "repeated", resourceList + "<url><loc>b:</loc><lastmod>2025</lastmod>▮<lastmod>2025</lastmod></url></urlset>"},
	{"md of an entry repeated", core7, "repeated", resourceList + `<url><loc>b:</loc><rs:md/><rs:ln rel="a" href="b:"/>▮<rs:md/></url></urlset>`},
	{"md in a plain sitemap", core7, "no capability", urlset + "<url><loc>b:</loc>▮<rs:md/></url></urlset>"},
	{"ln in a plain sitemap", core7, "no capability", urlset + `<url><loc>b:</loc>▮<rs:ln rel="a" href="b:"/></url></urlset>`},

	// Values.
	{"bad lastmod", core7, "W3C Datetime", resourceList + "<url><loc>b:</loc>\n▮<lastmod>May</lastmod></url></urlset>"},
	{"bad at", core7, `at is "today"`, urlset + `▮<rs:md capability="resourcelist" at="today"/></urlset>`},
	{"at without zone", core7, "W3C Datetime", urlset + `▮<rs:md capability="resourcelist" at="2025-05-01T00:00:00"/></urlset>`},
	{"bad completed", core7, "completed is", urlset + `▮<rs:md capability="resourcelist" at="2025" completed=""/></urlset>`},
	{"bad from", core7, "from is", urlset + `▮<rs:md capability="changelist" from="a"/></urlset>`},
	{"bad until", core7, "until is", urlset + `▮<rs:md capability="changelist" from="2025" until="a"/></urlset>`},
	{"bad datetime", core7, "datetime is", changeList + `<url><loc>b:</loc>▮<rs:md change="created" datetime="a"/></url></urlset>`},
	{"bad modified", core7, "modified is", urlset + `▮<rs:ln rel="a" href="b:" modified="a"/></urlset>`},
	{"completed before at", core7, "completed is before", urlset + `▮<rs:md capability="resourcelist" at="2025" completed="2024"/></urlset>`},
	{"until before from", core7, "until is before", urlset + `▮<rs:md capability="changelist" from="2025" until="2024"/></urlset>`},
	{"bad changefreq", core7, "changefreq", resourceList + "<url><loc>b:</loc>▮<changefreq>Daily</changefreq></url></urlset>"},
	{"bad change", core7, "change is", changeList + `<url><loc>b:</loc>▮<rs:md change="renamed"/></url></urlset>`},
	{"bad hash", core7, "hash is", resourceList + `<url><loc>b:</loc>▮<rs:md hash="md5:a sha-256"/></url></urlset>`},
	{"hashes with a comma", core7, "separated by spaces", resourceList + `<url><loc>b:</loc>▮<rs:md hash="md5:a,sha-1:b"/></url></urlset>`},
	{"empty hash", core7, "hash is", resourceList + `<url><loc>b:</loc>▮<rs:md hash=" "/></url></urlset>`},
	{"hash without digest", core7, "hash is", resourceList + `<url><loc>b:</loc>▮<rs:md hash="md5:"/></url></urlset>`},
	{"hash of a link", core7, "hash is", resourceList + `<url><loc>b:</loc>▮<rs:ln rel="a" href="b:" hash=":a"/></url></urlset>`},
	{"negative length", core7, "length is", resourceList + `<url><loc>b:</loc>▮<rs:md length="-1"/></url></urlset>`},
	{"length with sign", core7, "length is", resourceList + `<url><loc>b:</loc>▮<rs:md length="+1"/></url></urlset>`},
	{"length beyond int64", core7, "length is", resourceList + `<url><loc>b:</loc>▮<rs:md length="9223372036854775808"/></url></urlset>`},
	{"length of a link", core7, "length is", urlset + `▮<rs:ln rel="a" href="b:" length="1.5"/></urlset>`},
	{"pri 0", core7, "pri is", urlset + `▮<rs:ln rel="a" href="b:" pri="0"/></urlset>`},
	{"pri 1000000", core7, "pri is", urlset + `▮<rs:ln rel="a" href="b:" pri="1000000"/></urlset>`},
	{"pri first", core7, "pri is", urlset + `▮<rs:ln rel="a" href="b:" pri="first"/></urlset>`},
	{"link without rel", core7, "no rel", urlset + `▮<rs:ln href="b:"/></urlset>`},
	{"link without href", core7, "no href", urlset + `▮<rs:ln rel="up"/></urlset>`},
	{"link with relative href", core7, "not absolute", urlset + `▮<rs:ln rel="up" href="/a"/></urlset>`},
	{"unknown attribute of md", core7, `"modified"`, urlset + `▮<rs:md capability="a" modified="2025"/></urlset>`},
	{"unknown attribute of ln", core7, `"title"`, urlset + `▮<rs:ln rel="a" href="b:" title=""/></urlset>`},

	// Capabilities.
	{"no capability", core7, "no capability", urlset + `▮<rs:md at="2025"/></urlset>`},
	{"empty capability", core7, "capability", urlset + `▮<rs:md capability=""/></urlset>`},
	{"links and no md", core7, "no capability", `▮` + urlset + `<rs:ln rel="up" href="b:"/></urlset>`},
	{"document with a hash", core7, "hash", urlset + `▮<rs:md capability="other" hash="a:b"/></urlset>`},
	{"document with a datetime", core7, "datetime", urlset + `▮<rs:md capability="changelist" from="2025" datetime="2025"/></urlset>`},

	{"description with at", core7, "attribute at", urlset + `▮<rs:md capability="description" at="2025"/></urlset>`},
	{"description, md without capability", "Core 8", "attribute capability", urlset + `<rs:md capability="description"/>▮<url><loc>b:</loc><rs:md/></url></urlset>`},
	{"description of lists", "Core 8", "resourcelist", urlset + `<rs:md capability="description"/>▮<url><loc>b:</loc><rs:md capability="resourcelist"/></url></urlset>`},

	{"capability list with from", core7, "attribute from", urlset + `▮<rs:md capability="capabilitylist" from="2025"/></urlset>`},
	{"capability list without capability", "Core 9", "attribute capability", urlset + `<rs:md capability="capabilitylist"/>▮<url><loc>b:</loc></url></urlset>`},
	{"capability list with two lists", "Core 9", "two entries", urlset + `<rs:md capability="capabilitylist"/><url><loc>b:</loc><rs:md capability="a"/></url>` + "\n" + `▮<url><loc>b:</loc><rs:md capability="a"/></url></urlset>`},
	{"capability list index", "Core 9", "no index", sitemapindex + `▮<rs:md capability="capabilitylist"/></sitemapindex>`},

	{"resource list without at", "Core 10.1", "attribute at", urlset + `▮<rs:md capability="resourcelist"/></urlset>`},
	{"resource list with from", core7, "attribute from", urlset + `▮<rs:md capability="resourcelist" at="2025" from="2025"/></urlset>`},
	{"resource list, entry with at", core7, "attribute at", resourceList + `▮<url><loc>b:</loc><rs:md at="2025"/></url></urlset>`},
	{"resource list, entry with change", core7, "attribute change", resourceList + `▮<url><loc>b:</loc><rs:md change="created"/></url></urlset>`},
	{"resource list, entry with path", core7, "attribute path", resourceList + `▮<url><loc>b:</loc><rs:md path="/a"/></url></urlset>`},
	{"resource list, link with path", core7, "not a manifest", resourceList + `▮<url><loc>b:</loc><rs:ln rel="a" href="b:" path="/a"/></url></urlset>`},
	{"resource list, link of the head with path", core7, "not a manifest", urlset + `<rs:ln rel="a" href="b:" path="/a"/>▮<rs:md capability="resourcelist" at="2025"/></urlset>`},
	{"resource list index without at", "Core 10.2", "attribute at", sitemapindex + `▮<rs:md capability="resourcelist"/></sitemapindex>`},
	{"resource list index, entry with from", core7, "attribute from", sitemapindex + `<rs:md capability="resourcelist" at="2025"/>▮<sitemap><loc>b:</loc><rs:md from="2025"/></sitemap></sitemapindex>`},

	{"resource dump without at", "Core 11.1", "attribute at", urlset + `▮<rs:md capability="resourcedump"/></urlset>`},
	{"resource dump with until", core7, "attribute until", urlset + `▮<rs:md capability="resourcedump" at="2025" until="2025"/></urlset>`},
	{"resource dump, entry with from", core7, "attribute from", urlset + `<rs:md capability="resourcedump" at="2025"/>▮<url><loc>b:</loc><rs:md from="2025"/></url></urlset>`},
	{"resource dump index without at", "Core 11.1", "attribute at", sitemapindex + `▮<rs:md capability="resourcedump"/></sitemapindex>`},
	{"resource dump manifest without at", "Core 11.2", "attribute at", urlset + `▮<rs:md capability="resourcedump-manifest"/></urlset>`},
	{"resource dump manifest without path", "Core 11.2", "attribute path", urlset + `<rs:md capability="resourcedump-manifest" at="2025"/>▮<url><loc>b:</loc></url></urlset>`},
	{"resource dump manifest, relative path", "Core 11.2", "slash", urlset + `<rs:md capability="resourcedump-manifest" at="2025"/>▮<url><loc>b:</loc><rs:md path="a"/></url></urlset>`},
	{"resource dump manifest, relative path of a link", "Core 11.2", "slash", urlset + `<rs:md capability="resourcedump-manifest" at="2025"/>▮<url><loc>b:</loc><rs:md path="/a"/><rs:ln rel="a" href="b:" path="b"/></url></urlset>`},
	{"resource dump manifest index", "Core 11.2", "no index", sitemapindex + `▮<rs:md capability="resourcedump-manifest" at="2025"/></sitemapindex>`},

	{"change list without from", "Core 12.1", "attribute from", urlset + `▮<rs:md capability="changelist"/></urlset>`},
	{"change list with at", core7, "attribute at", urlset + `▮<rs:md capability="changelist" from="2025" at="2025"/></urlset>`},
	{"change list without change", "Core 12.1", "attribute change", changeList + `▮<url><loc>b:</loc></url></urlset>`},
	{"change list, entry with from", core7, "attribute from", changeList + `▮<url><loc>b:</loc><rs:md change="created" from="2025"/></url></urlset>`},
	{"change list out of order", "Core 12.1", "chronological", changeList + `<url><loc>b:</loc><rs:md change="created" datetime="2025-05-01T02:00:00Z"/></url>` +
		`<url><loc>b:</loc><rs:md change="updated"/></url>` + "\n  " + `▮<url><loc>b:</loc><rs:md change="updated" datetime="2025-05-01T01:00:00Z"/></url></urlset>`},
	{"change before from", core7, "before the from", changeList + `▮<url><loc>b:</loc><rs:md change="created" datetime="2025-04-30T23:59:59Z"/></url></urlset>`},
	{"change after until", core7, "after the until", changeList + `▮<url><loc>b:</loc><rs:md change="created" datetime="2025-05-02T00:00:01Z"/></url></urlset>`},
	{"change list index without from", "Core 12.2", "attribute from", sitemapindex + `▮<rs:md capability="changelist"/></sitemapindex>`},
	{"change list index out of order", "Core 12.2", "chronological", sitemapindex + `<rs:md capability="changelist" from="2024"/>` +
		`<sitemap><loc>b:</loc><rs:md from="2025"/></sitemap>▮<sitemap><loc>b:</loc><rs:md from="2024"/></sitemap></sitemapindex>`},
	{"change list index, entry with change", core7, "attribute change", sitemapindex + `<rs:md capability="changelist" from="2024"/>▮<sitemap><loc>b:</loc><rs:md change="created"/></sitemap></sitemapindex>`},

	{"change dump without from", "Core 13.1", "attribute from", urlset + `▮<rs:md capability="changedump"/></urlset>`},
	{"change dump, entry with at", core7, "attribute at", urlset + `<rs:md capability="changedump" from="2025"/>▮<url><loc>b:</loc><rs:md at="2025"/></url></urlset>`},
	{"change dump index without from", "Core 13.1", "attribute from", sitemapindex + `▮<rs:md capability="changedump"/></sitemapindex>`},
	{"change dump manifest without from", "Core 13.2", "attribute from", urlset + `▮<rs:md capability="changedump-manifest"/></urlset>`},
	{"change dump manifest without change", "Core 13.2", "attribute change", urlset + `<rs:md capability="changedump-manifest" from="2025"/>▮<url><loc>b:</loc><rs:md path="/a"/></url></urlset>`},
	{"change dump manifest without path", "Core 13.2", "attribute path", urlset + `<rs:md capability="changedump-manifest" from="2025"/>▮<url><loc>b:</loc><rs:md change="created"/></url></urlset>`},
	{"change dump manifest out of order", "Core 13.2", "chronological", urlset + `<rs:md capability="changedump-manifest" from="2024"/>` +
		`<url><loc>b:</loc><rs:md change="deleted" datetime="2025-05"/></url>▮<url><loc>b:</loc><rs:md change="deleted" datetime="2025-04"/></url></urlset>`},
	{"change dump manifest index", "Core 13.2", "no index", sitemapindex + `▮<rs:md capability="changedump-manifest" from="2025"/></sitemapindex>`},

	{"resource list archive, entry without at", "Archives 3", "attribute at", urlset + `<rs:md capability="resourcelist-archive"/>▮<url><loc>b:</loc></url></urlset>`},
	{"resource list archive with from", core7, "attribute from", urlset + `▮<rs:md capability="resourcelist-archive" from="2025"/></urlset>`},
	{"resource list archive out of order", "Archives 3", "chronological", urlset + `<rs:md capability="resourcelist-archive"/>` +
		`<url><loc>b:</loc><rs:md at="2025-05"/></url>▮<url><loc>b:</loc><rs:md at="2025-04"/></url></urlset>`},
	{"resource dump archive, entry with from", core7, "attribute from", urlset + `<rs:md capability="resourcedump-archive"/>▮<url><loc>b:</loc><rs:md at="2025" from="2025"/></url></urlset>`},
	{"change list archive, open entry", "Archives 5", "attribute until", urlset + `<rs:md capability="changelist-archive"/>▮<url><loc>b:</loc><rs:md from="2025"/></url></urlset>`},
	{"change list archive out of order", "Archives 5", "chronological", urlset + `<rs:md capability="changelist-archive"/>` +
		`<url><loc>b:</loc><rs:md from="2025" until="2026"/></url>▮<url><loc>b:</loc><rs:md from="2024" until="2025"/></url></urlset>`},
	{"change list archive index with at", core7, "attribute at", sitemapindex + `▮<rs:md capability="changelist-archive" at="2025"/></sitemapindex>`},
	{"change dump archive, entry without from", "Archives 6", "attribute from", urlset + `<rs:md capability="changedump-archive"/>▮<url><loc>b:</loc><rs:md until="2025"/></url></urlset>`},

	{"change notification without from", "Change Notification 3", "attribute from", urlset + `▮<rs:md capability="change-notification" until="2025"/></urlset>`},
	{"change notification without until", "Change Notification 3", "attribute until", urlset + `▮<rs:md capability="change-notification" from="2025"/></urlset>`},
	{"change notification without change", "Change Notification 3", "attribute change", urlset + `<rs:md capability="change-notification" from="2025" until="2026"/>▮<url><loc>b:</loc></url></urlset>`},
	{"change notification out of order", "Change Notification 3", "chronological", urlset + `<rs:md capability="change-notification" from="2025" until="2026"/>` +
		`<url><loc>b:</loc><rs:md change="created" datetime="2025-05"/></url>▮<url><loc>b:</loc><rs:md change="created" datetime="2025-04"/></url></urlset>`},
	{"change notification index", "Change Notification 3", "no index", sitemapindex + `▮<rs:md capability="change-notification" from="2025" until="2026"/></sitemapindex>`},
	{"framework notification without capability", "Framework Notification 3", "attribute capability", urlset + `<rs:md capability="framework-notification"/>▮<url><loc>b:</loc><rs:md change="created"/></url></urlset>`},
	{"framework notification without change", "Framework Notification 3", "attribute change", urlset + `<rs:md capability="framework-notification"/>▮<url><loc>b:</loc><rs:md capability="resourcelist"/></url></urlset>`},
	{"framework notification index", "Framework Notification 3", "no index", sitemapindex + `▮<rs:md capability="framework-notification"/></sitemapindex>`},
}

func TestBadDocuments(t *testing.T) {
	for _, bad := range slices.Concat(notDocuments, badDocuments) {
		bad.check(t)
	}
}

// check checks that bad is refused for the right reason, at the right place.
func (bad badDocument) check(t *testing.T) {
	t.Helper()
	before, after, ok := strings.Cut(bad.data, "▮")
	if !ok {
		t.Fatalf("%s: no place is marked", bad.name)
	}
	line := 1 + strings.Count(before, "\n")
	column := len(before) - strings.LastIndexByte(before, '\n')

	_, _, err := decode(before + after)
	got, ok := errors.AsType[*SyntaxError](err)
	switch {
	case !ok:
		t.Errorf("%s: got %v, want a SyntaxError", bad.name, err)
	case got.ID == "" || got.Section != bad.section || got.Line != line || got.Column != column || !strings.Contains(got.Rule, bad.rule):
		t.Errorf("%s: got %v, want line %d, column %d: …%s… (%s)", bad.name, err, line, column, bad.rule, bad.section)
	case err.Error() != fmt.Sprintf("rsxml: line %d, column %d: %s (%s)", line, column, got.Rule, got.Section):
		t.Errorf("%s: error text %q", bad.name, err)
	}
}

// TestAppendixA compares the rules with table 4 of the specification.
func TestAppendixA(t *testing.T) {
	const (
		x = iota // not to be used
		o        // optional, or recommended
		m        // mandatory
	)
	use := func(attr, may, must attrSet) int {
		switch {
		case must&attr != 0:
			return m
		case may&attr != 0:
			return o
		}
		return x
	}
	for doc, want := range map[docType][4]int{
		{resourcesync.ResourceList, false}:         {m, x, x, x},
		{resourcesync.ResourceList, true}:          {m, x, o, x},
		{resourcesync.ResourceDump, false}:         {m, x, o, x},
		{resourcesync.ResourceDump, true}:          {m, x, o, x},
		{resourcesync.ResourceDumpManifest, false}: {m, x, x, x},
		{resourcesync.ChangeList, false}:           {x, m, x, x},
		{resourcesync.ChangeList, true}:            {x, m, x, o},
		{resourcesync.ChangeDump, false}:           {x, m, x, o},
		{resourcesync.ChangeDump, true}:            {x, m, x, o},
		{resourcesync.ChangeDumpManifest, false}:   {x, m, x, x},
	} {
		r := allRules[doc]
		got := [4]int{
			use(at, r.may, r.must), use(from, r.may, r.must),
			use(at, r.entryMay, r.entryMust), use(from, r.entryMay, r.entryMust),
		}
		if got != want {
			t.Errorf("%v: at and from of document and entry: got %v, want %v", doc, got, want)
		}
	}
	for doc, r := range allRules {
		if r.must&^r.may != 0 || r.entryMust&^(r.entryMay|ofResources) != 0 || r.inOrder&^r.entryMay != 0 {
			t.Errorf("%v: an attribute that must be there may not", doc)
		}
	}
}

// TestD9_ArchiveDocuments wants a rule for each archive and its index.
func TestD9_ArchiveDocuments(t *testing.T) {
	for _, c := range []resourcesync.Capability{
		resourcesync.ResourceListArchive, resourcesync.ResourceDumpArchive,
		resourcesync.ChangeListArchive, resourcesync.ChangeDumpArchive,
	} {
		for _, index := range []bool{false, true} {
			r := allRules[docType{c, index}]
			if r == nil || r.must != 0 || r.entryMay != r.may {
				t.Errorf("%s, index %v: rules are %+v", c, index, r)
			}
		}
	}
}
