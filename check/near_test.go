package check_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
)

// near has a Source for each rule that comes close to what it finds, without breaking it. A rule with
// several parts has several, whose names continue after a colon. Those of responses, resources,
// packages and push are in nearContent, those of dump-incomplete in nearDump.
var near = map[string]func(*testing.T, *site){
	// Documents.
	"xml":           edit(list2, "</urlset>", "<!-- </url> --></urlset>\n\n"),
	"encoding-utf8": edit(list2, `encoding="UTF-8"`, `encoding="utf-8"`),
	"root-element": func(_ *testing.T, s *site) {
		s.files[list2].body = strings.ReplaceAll(s.files[list2].body, "<urlset", "<!-- <error> --><urlset")
	},
	"namespace":            both(edit(list2, ` xmlns:rs="`, ` xmlns:oai="http://www.openarchives.org/OAI/2.0/" xmlns:ore="http://www.openarchives.org/ore/terms/" xmlns:rs="`), edit(list2, "<lastmod>", "<oai:record/><ore:aggregates/><lastmod>")),
	"namespace-prefix":     both(edit(list2, "xmlns:rs=", "xmlns:sync="), edit(list2, "<rs:", "<sync:")),
	"element-size":         edit(list2, "<lastmod>", "<!-- "+strings.Repeat("x", 1<<20-1000)+" --><lastmod>"),
	"loc-missing":          edit(list2, "<loc>{base}/c</loc>", "<loc>\n {base}/c </loc>"),
	"uri-syntax":           edit(list2, "</urlset>", `<url><loc>urn:isbn:0451450523</loc>`+lastmodA+`</url></urlset>`),
	"capability-missing":   edit(list2, `<rs:md capability="resourcelist" at=`, `<rs:md at=`+`"2025-03-01T00:00:00Z" capability="resourcelist" completed=`),
	"datetime-syntax":      edit(list2, "<lastmod>2025-02-03T00:00:00Z", "<lastmod>2025-02-03"),
	"doctype":              edit(list2, "<urlset", "<?xml-stylesheet href=\"x.xsl\"?><urlset"),
	"unexpected-text":      edit(list2, "<lastmod>", "\n\t <!-- text --><lastmod>"),
	"unexpected-element":   edit(list2, "<rs:ln rel=\"describedby\"", `<news xmlns="http://www.google.com/schemas/sitemap-news/0.9"/><rs:ln rel="describedby"`),
	"element-repeated":     edit(list2, `pri="1"/>`, `pri="1"/><rs:ln rel="describedby" href="{base}/c.meta2"/>`),
	"element-order":        edit(list2, `<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/>`, `<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/><rs:ln rel="license" href="{base}/license"/>`),
	"attribute-unknown":    edit(list2, `type="text/plain"`, `type="text/plain" x:size="3" xmlns:x="https://example.org/x"`),
	"attribute-prefix":     edit(list2, `type="text/plain"`, `type="text/plain" x:type="3" xmlns:x="https://example.org/x"`),
	"attribute-misplaced":  edit(list2, ` at=`, ` completed="2025-03-02T00:00:00Z" at=`),
	"changefreq-value":     edit(list1, "daily", " never "),
	"hash-syntax":          edit(list1, "sha-256:{sha256 /a}", "  sha-256:{sha256 /a}\n "),
	"length-value":         edit(list1, `length="{length /a}"`, `length=" {length /a} "`),
	"pri-value":            edit(list2, `pri="1"`, `pri="999999"`),
	"link-rel-missing":     edit(list2, `rel="describedby"`, `rel="https://example.org/rel"`),
	"completed-before-at":  edit(list2, ` at=`, ` completed="2025-03-01T00:00:00Z" at=`),
	"document-large":       sized(10_000_000),
	"hash-digest":          edit(list1, "sha-256:{sha256 /a}", "sha-256:{sha256 /a} crc32:zz"),
	"type-syntax":          edit(list2, `hash="sha-256:{sha256 /c}" length="{length /c}" type="text/plain"`, `type="text/plain; charset=utf-8"`),
	"hash-algorithm":       edit(list1, "sha-256:{sha256 /a}", "crc32:12345678 sha-256:{sha256 /a}"),
	"resource-undescribed": edit(list2, `<lastmod>2025-02-03T00:00:00Z</lastmod>`, ""),
	"deleted-described":    edit(changes2, `change="deleted" datetime="2025-02-04T00:00:00Z"`, `change="deleted" datetime="2025-02-04T00:00:00Z" encoding="gzip"`),
	"at-missing":           edit(list, `<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/>`, `<rs:md at="2025-03-01" capability="resourcelist"/>`),

	"entry-element": edit(list2, "</urlset>", `<sitemap xmlns="https://example.org/x"/></urlset>`),
	"loc-length": func(t *testing.T, s *site) {
		long := "/" + strings.Repeat("c", 2048-1-len(s.URL))
		s.files[long] = s.files["/c"]
		s.edit(t, list2, "{base}/c<", "{base}"+long+"<")
		s.edit(t, changes2, "<url><loc>{base}/c</loc>", "<url><loc>{base}/e</loc>")
		s.edit(t, changes2, `change="updated"`, `change="deleted"`)
	},
	"link-href-missing":    edit(list2, `rel="describedby" href="{base}/c.meta"`, `href="urn:isbn:0451450523" rel="describedby"`),
	"document-entries":     many(49_999),
	"document-size":        sized(50 << 20),
	"change-value":         edit(changes2, `"updated"`, `"created"`),
	"entry-change-missing": edit(changes2, `change="updated" datetime="2025-02-03T00:00:00Z"`, `datetime="2025-02-03T00:00:00Z" change="updated"`),
	"from-missing":         edit(changes2, ofChanges, `<rs:md from="2025-02-02T00:00:00+00:00" capability="changelist"/>`),

	// Capabilities.
	"capability-unknown":       archive("resourcelist-archive", list1, `at="2025-03-01T00:00:00Z"`),
	"entry-at-missing":         archive("resourcedump-archive", dump, `at="2025-01-31T00:00:00Z"`),
	"entry-from-missing":       archive("changelist-archive", changes1, `from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"`),
	"entry-until-missing":      archive("changedump-archive", chDump, `until="2025-02-02T00:00:00Z" from="2025-01-01T00:00:00Z"`),
	"entry-capability-missing": edit(list, "</lastmod></sitemap>", `</lastmod><rs:md type="application/xml"/></sitemap>`),
	"index-not-allowed":        described(1),
	"discovery-endless":        described(99),
	"part-capability": both(archive("resourcelist-archive", "/list-old.xml", `at="2024-03-01T00:00:00Z"`), func(_ *testing.T, s *site) {
		s.add("/list-old.xml", urlset+up+strings.ReplaceAll(ofList1, "2025", "2024")+"</urlset>")
	}),
	"entry-capability":    edit(wellKnown, `<rs:md capability="capabilitylist"/>`, ""),
	"capability-repeated": secondSet,
	"index-as-urlset":     edit(changes2, `<rs:md change="updated"`, `<rs:md capability="changelist" change="updated"`),
	"index-empty": func(t *testing.T, s *site) {
		s.files["/dump-a.xml"] = s.files[dump]
		s.edit(t, "/dump-a.xml", up, up+`<rs:ln rel="index" href="{base}/dump.xml"/>`)
		s.add(dump, index+up+`<rs:md capability="resourcedump" at="2025-01-31T00:00:00Z"/><sitemap><loc>{base}/dump-a.xml</loc><rs:md at="2025-01-31T00:00:00Z"/></sitemap></sitemapindex>`)
	},

	// Times and order.
	"entry-order":          edit(changes2, `"2025-02-03T00:00:00Z"`, `"2025-02-04T00:00:00Z"`),
	"datetime-interval":    edit(changes2, `"2025-02-03T00:00:00Z"`, `"2025-02-02T00:00:00Z"`),
	"until-before-from":    both(edit(changes2, ofChanges, `<rs:md capability="changelist" from="2025-02-02T00:00:00Z" until="2025-02-04T00:00:00Z"/>`), edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T00:00:00Z" until="2025-02-04T00:00:00Z"/>`)),
	"time-future":          edit(list2, "<lastmod>2025", "<lastmod>2125"),
	"part-interval":        edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T01:00:00+01:00"/>`),
	"until-after-index":    both(edit(changes, `capability="changelist" from="2025-01-01T00:00:00Z"/>`, `capability="changelist" from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/>`), onlyClosed),
	"open-in-closed-index": both(edit(changes, `capability="changelist" from="2025-01-01T00:00:00Z"/>`, `capability="changelist" from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/>`), onlyClosed),
	"changes-gap":          both(edit(list, "2025-03-01", "2025-01-01"), edit(list1, "2025-03-01", "2025-01-01"), edit(list2, "2025-03-01", "2025-01-01")),
	"lastmod-missing":      edit(list, "<lastmod>2025-03-01T00:00:00Z</lastmod>", `<rs:md at="2025-03-01T00:00:00Z"/>`),
	"package-order":        edit(chDump, "</urlset>", `<url><loc>{base}/changedump-1.zip</loc><rs:md from="2025-02-02T00:00:00Z" until="2025-02-03T00:00:00Z" type="application/zip"/></url></urlset>`),
	"package-order: index": changeDumpIndex(1, 2),
	"package-formats":      edit(chDump, "</urlset>", `<url><loc>{base}/changedump-1.zip</loc><rs:md from="2025-02-02T00:00:00Z" until="2025-02-03T00:00:00Z" type="application/x-zip-compressed"/></url></urlset>`),

	"datetime-missing": edit(changes2, `datetime="2025-02-03T00:00:00Z"`, `datetime="2025-02-03T01:00:00.5+01:00"`),
	"interval-gap":     edit(changes, `until="2025-02-02T00:00:00Z"`, `until="2025-02-01T23:00:00.000-01:00"`),
	"interval-overlap": edit(chDump, "</urlset>", `<url><loc>{base}/changedump-1.zip</loc><rs:md from="2025-02-02T00:00:00Z" type="application/zip"/></url></urlset>`),

	// Links and the tree.
	"link-index-missing": both(edit(list2, `<rs:ln rel="index" href="{base}/list.xml"/>`, ""), edit(list2, `<rs:ln rel="up"`, `<rs:ln rel="index" href="{base}/list.xml"/><rs:ln rel="up"`)),
	"link-index-wrong":   edit(list2, `href="{base}/list.xml"`, `href="{base}/list.xml" type="application/xml"`),
	"unreachable":        edit(list2, up, up+`<rs:ln rel="collection" href="{base}/nothing.xml"/>`),
	"document-internal":  edit(list2, `href="{base}/c.meta"`, `href="http://10.255.255.1/c.meta"`),
	"index-nested":       edit(list, "</lastmod></sitemap>", `</lastmod><rs:md at="2025-03-01T00:00:00Z"/></sitemap>`),
	"well-known-missing": func(_ *testing.T, s *site) {
		s.add("/", `<html><head><link rel="resourcesync" href="/caps-2.xml"></head></html>`).kind = "text/html"
	},
	"link-up-missing":          edit(list2, `<rs:ln rel="up"`, `<rs:ln rel="license" href="{base}/license"/><rs:ln rel="up"`),
	"link-up-wrong":            edit(list, `href="{base}/caps.xml"`, `href="{base}/caps.xml" type="application/xml"`),
	"relation-unregistered":    edit(list2, `rel="describedby"`, `rel="Cite-As"`),
	"patch-type-missing":       patch(changes2, ` type="application/json-patch"`),
	"patch-path-missing":       patch(chDumpZIP, ` type="application/json-patch" path="/1/patch"`),
	"patch-misplaced":          patch(changes2, ` type="application/json-patch"`),
	"timegate-attributes":      edit(list2, `rel="describedby" href="{base}/c.meta" pri="1"`, `rel="timegate" href="{base}/c.meta"`),
	"version-missing":          edit(list2, `rel="describedby" href="{base}/c.meta" pri="1"`, `rel="memento" href="{base}/b"`),
	"link-uncovered":           with("/c", func(f *file) { f.header = http.Header{"Link": {`</caps.xml>; rel="resourcesync"`}} }),
	"list-paging":              edit(list1, up, up+`<rs:ln rel="next" href="{base}/list-2.xml"/>`),
	"resource-repeated":        edit(list2, "</urlset>", `<url><loc>{base}/a?</loc>`+lastmodA+`</url></urlset>`),
	"resource-conflict":        edit(list2, "</urlset>", entryA+"</urlset>"),
	"list-contradicts-changes": edit(changes2, `change="deleted" datetime="2025-02-04T00:00:00Z"/></url>`, `change="created" datetime="2025-02-04T00:00:00Z"/></url><url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-05T00:00:00Z"/></url>`),
	"closed-changed":           changing(changes2, "</urlset>", `<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-05T00:00:00Z"/></url></urlset>`),
	"unstable": both(changing(changes2, "</urlset>", `<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-05T00:00:00Z"/></url></urlset>`),
		changing(list, "2025-03-01T00:00:00Z", "2025-03-01T00:00:01Z")), // a part of the index has changed
	"mixed-hosts": edit(list2, "</urlset>", `<url><loc>urn:isbn:0451450523</loc>`+lastmodA+`</url></urlset>`),
	"robots-disallowed": func(_ *testing.T, s *site) {
		s.add("/robots.txt", "User-agent: other\nDisallow: /\n").kind = "text/plain"
	},
	"baseline-missing": edit(caps, `<url><loc>{base}/list.xml</loc><rs:md capability="resourcelist"/></url>`, ""),
	"changes-missing":  edit(caps, `<url><loc>{base}/changes.xml</loc><rs:md capability="changelist"/></url>`, ""),
	"newest-first": func(t *testing.T, s *site) {
		s.edit(t, changes2, "/c</loc><rs:md change", "/c</loc><lastmod>2025-02-01T00:00:00Z</lastmod><rs:md change")
		s.edit(t, changes2, "/d</loc><rs:md change", "/d</loc><lastmod>2024-02-01T00:00:00Z</lastmod><rs:md change")
		s.edit(t, changes2, "</urlset>", `<url><loc>{base}/e</loc><lastmod>2023-02-01T00:00:00Z</lastmod><rs:md change="deleted" datetime="2025-02-05T00:00:00Z"/></url></urlset>`)
	},
}

// alongside has what is found in near misses all the same.
var alongside = map[string]string{"resource-conflict": "resource-repeated", "document-size": "document-large"}

// TestNear holds that each rule has a Source that comes close, in which nothing is found. With -short, it
// checks every fourth of them: in TestSeeded, nothing but the seed is found either.
func TestNear(t *testing.T) {
	known, has := make(map[string]bool), make(map[string]bool)
	for _, rule := range check.Rules() {
		known[rule.ID] = true
	}
	for _, set := range []map[string]func(*testing.T, *site){near, nearContent, nearDump} {
		for i, name := range slices.Sorted(maps.Keys(set)) {
			id, _, _ := strings.Cut(name, ":")
			if has[id] = true; !known[id] {
				t.Errorf("there is no rule %s", id)
			}
			if testing.Short() && i%4 != 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := correct(t)
				set[name](t, s)
				if r, counts := s.judge(t, nil); !slices.Equal(rulesOf(counts), expected(alongside[id])) {
					t.Errorf("found:\n%s", describe(r))
				}
			})
		}
	}
	for id := range known {
		if !has[id] {
			t.Errorf("%s needs a near miss", id)
		}
	}
}

// expected returns the IDs that are not empty.
func expected(ids ...string) []string {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return ids
}

// described makes the Source Description an index of n others.
func described(n int) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		part := strings.Replace(s.files[wellKnown].body, `<rs:md capability="description"/>`, `<rs:ln rel="index" href="{base}/.well-known/resourcesync"/><rs:md capability="description"/>`, 1)
		parts := ""
		for i := range n {
			path := fmt.Sprintf("/description-%d.xml", i+1)
			s.add(path, part)
			parts += "<sitemap><loc>{base}" + path + "</loc></sitemap>"
		}
		s.add(wellKnown, index+`<rs:md capability="description"/>`+parts+"</sitemapindex>")
		s.edit(t, caps, "{base}/.well-known/resourcesync", "{base}/description-1.xml")
	}
}

// TestEndless has a Source Description of Source Descriptions, and so on.
func TestEndless(t *testing.T) {
	for links, most := range map[int]int{1: 20, 50: 20} {
		s := newSite(t)
		requests := 0
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Content-Type", "application/xml")
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, urlset+`<rs:md capability="description"/>`)
			for i := range links {
				fmt.Fprintf(w, `<url><loc>%s%s/%d</loc><rs:md capability="capabilitylist"/></url>`, s.URL, r.URL.Path, i)
			}
			fmt.Fprint(w, "</urlset>")
		})
		o := options()
		o.Concurrency, o.Pause = 1, -1
		if r, counts := s.judge(t, o); counts["discovery-endless"] != 1 || requests > most {
			t.Errorf("%d links: %d requests\n%s", links, requests, describe(r))
		}
	}
}
