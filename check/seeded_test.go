package check_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A seed is one violation or need for advice in an otherwise correct Source. The check must find
// its rule and no other.
type seed struct {
	name, rule string
	document   string // in which it is found
	line       int    // 0: any
	plant      func(t *testing.T, s *site)
}

// edit returns a plant that replaces text.
func edit(path, old, new string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) { s.edit(t, path, old, new) }
}

// with returns a plant that changes a file.
func with(path string, change func(*file)) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) { change(s.files[path]) }
}

// both returns a plant that does several things.
func both(plants ...func(*testing.T, *site)) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		for _, p := range plants {
			p(t, s)
		}
	}
}

const (
	ofList1   = `<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/>`
	ofChanges = `<rs:md capability="changelist" from="2025-02-02T00:00:00Z"/>`
	lastmodA  = `<lastmod>2025-02-01T00:00:00Z</lastmod>`
	entryA    = `<url><loc>{base}/a</loc>` + lastmodA + `<rs:md hash="sha-256:{sha256 /a}" length="{length /a}" type="text/plain"/></url>`
)

var seeds = []seed{
	// Documents that cannot be read.
	{"truncated", "xml", list2, 0, edit(list2, "</urlset>", "")},
	{"not well-formed", "xml", list2, 7, edit(list2, "</url>", "</uri>")},
	{"Latin-1", "encoding-utf8", list2, 0, edit(list2, `encoding="UTF-8"`, `encoding="ISO-8859-1"`)},
	{"an error page", "root-element", list2, 2, func(_ *testing.T, s *site) { s.add(list2, "<?xml version=\"1.0\"?>\n<error>Sorry</error>") }},
	{"namespace in https", "namespace", list2, 2, edit(list2, `xmlns="http:`, `xmlns="https:`)},
	{"terms in https", "namespace", list2, 3, edit(list2, `xmlns:rs="http:`, `xmlns:rs="https:`)},
	{"undeclared prefix", "namespace-prefix", list2, 3, edit(list2, ` xmlns:rs="http://www.openarchives.org/rs/terms/"`, "")},
	{"a megabyte", "element-size", list2, 0, edit(list2, "<lastmod>", "<!-- "+strings.Repeat("x", 1<<20)+" --><lastmod>")},
	{"50,001 entries", "document-entries", list2, 0, many(50_000)},
	{"document type", "doctype", list2, 2, edit(list2, "<urlset", `<!DOCTYPE urlset><urlset`)},

	{"more than 50 MB", "document-size", list2, 0, sized(50<<20 + 1)},

	// Elements.
	{"a sitemap in a urlset", "entry-element", dump, 5, edit(dump, "url>", "sitemap>")},
	{"no loc", "loc-missing", list2, 8, edit(list2, "</urlset>", "<url/></urlset>")},
	{"relative loc", "uri-syntax", list2, 6, edit(list2, "<loc>{base}/c</loc>", "<loc>/c</loc>")},
	{"a space in a loc", "uri-syntax", list2, 6, func(t *testing.T, s *site) {
		s.files["/c d"] = s.files["/c"]
		s.edit(t, list2, "/c</loc>", "/c d</loc>")
		s.edit(t, changes2, "/c</loc>", "/c%20d</loc>")
	}},
	{"long loc", "loc-length", list2, 6, func(t *testing.T, s *site) {
		long := "/" + strings.Repeat("c", 2048)
		s.files[long] = s.files["/c"]
		s.edit(t, list2, "{base}/c<", "{base}"+long+"<")
		s.edit(t, changes2, "<url><loc>{base}/c</loc>", "<url><loc>{base}/e</loc>")
		s.edit(t, changes2, `change="updated"`, `change="deleted"`)
	}},
	{"text", "unexpected-text", list2, 6, edit(list2, "<lastmod>", "text<lastmod>")},
	{"title", "unexpected-element", list2, 6, edit(list2, "<lastmod>", "<title/><lastmod>")},
	{"lastmod twice", "element-repeated", list1, 6, edit(list1, lastmodA, lastmodA+lastmodA)},
	{"lastmod after rs:md", "element-order", list1, 0, edit(list1, "<changefreq>daily</changefreq>\n", "<changefreq>daily</changefreq><priority>0.5</priority><changefreq>daily</changefreq>")},
	{"metadata after entries", "element-order", changes2, 8, edit(changes2, "</urlset>", `<rs:ln rel="describedby" href="{base}/about"/></urlset>`)},
	{"an unknown attribute", "attribute-unknown", list2, 7, edit(list2, `type="text/plain"`, `type="text/plain" size="3"`)},
	{"a prefixed attribute", "attribute-prefix", list2, 7, edit(list2, ` type="text/plain"`, ` rs:type="text/plain"`)},

	// Capabilities.
	{"no capability", "capability-missing", dump, 4, edit(dump, `<rs:md capability="resourcedump" `, "<rs:md ")},
	{"a plain sitemap", "capability-missing", list, 2, edit(list, up+ofList1+"\n", "")},
	{"unknown capability", "capability-unknown", caps, 11, func(t *testing.T, s *site) {
		s.edit(t, caps, "</urlset>", `<url><loc>{base}/extra.xml</loc><rs:md capability="everything"/></url></urlset>`)
		s.add("/extra.xml", urlset+`<rs:md capability="everything"/></urlset>`)
	}},
	{"two lists of changes", "capability-repeated", caps, 0, edit(caps, "</urlset>", `<url><loc>{base}/changes-2.xml</loc><rs:md capability="changelist"/></url></urlset>`)},
	{"no capability of an entry", "entry-capability-missing", caps, 8, edit(caps, `<rs:md capability="changedump"/>`, "")},
	{"a list in the description", "entry-capability", wellKnown, 4, edit(wellKnown, `<rs:md capability="capabilitylist"/>`, `<rs:md capability="resourcelist"/>`)},
	{"an index of capabilities", "index-not-allowed", caps, 4, both(edit(caps, "urlset", "sitemapindex"), edit(caps, "url>", "sitemap>"))},
	{"the wrong list", "part-capability", dump, 4, func(t *testing.T, s *site) {
		s.edit(t, caps, `/changedump.xml</loc><rs:md capability="changedump"/>`, `/dump.xml</loc><rs:md capability="changedump"/>`)
		s.edit(t, caps, `<url><loc>{base}/dump.xml</loc><rs:md capability="resourcedump"/></url>`, "")
	}},

	// Archives.
	{"an archived list without at", "entry-at-missing", "/archive.xml", 5, archive("resourcelist-archive", list1, `type="application/xml"`)},
	{"archived changes without from", "entry-from-missing", "/archive.xml", 5, archive("changelist-archive", changes1, `until="2025-02-02T00:00:00Z"`)},
	{"archived changes without until", "entry-until-missing", "/archive.xml", 5, archive("changelist-archive", changes1, `from="2025-01-01T00:00:00Z"`)},

	// Attributes.
	{"list without at", "at-missing", list2, 5, edit(list2, ` at="2025-03-01T00:00:00Z"`, "")},
	{"dump without at", "at-missing", dump, 4, edit(dump, ` at="2025-01-31T00:00:00Z"`, "")},
	{"manifest without at", "at-missing", dumpZIP + "!/manifest.xml", 4, both(edit(dumpZIP, ` at="2025-01-31T00:00:00Z"`, ""), noContents)},
	{"changes without from", "from-missing", changes2, 5, both(edit(changes2, ` from="2025-02-02T00:00:00Z"`, ""), edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<lastmod>2025-02-02T00:00:00Z</lastmod>`))},
	{"change dump without from", "from-missing", chDump, 4, edit(chDump, ` from="2025-01-01T00:00:00Z"/>`, "/>")},
	{"notification without until", "until-missing", topic, 4, edit(topic, ` until="2025-02-04T00:00:00Z"`, "")},
	{"change without kind", "entry-change-missing", changes2, 6, edit(changes2, ` change="updated"`, "")},
	{"unknown kind", "change-value", changes2, 6, edit(changes2, `"updated"`, `"modified"`)},
	{"manifest without path", "entry-path-missing", dumpZIP + "!/manifest.xml", 5, both(edit(dumpZIP, ` path="/a"`, ""), removeMember(dumpZIP, "a"), noContents)},
	{"path without slash", "path-slash", dumpZIP + "!/manifest.xml", 5, both(edit(dumpZIP, ` path="/a"`, ` path="a"`), noContents)},
	{"local time", "datetime-syntax", list2, 6, edit(list2, "2025-02-03T00:00:00Z", "2025-02-03 00:00:00")},
	{"a date in words", "datetime-syntax", list2, 6, edit(list2, "2025-02-03T00:00:00Z", "Monday")},
	{"from in a list", "attribute-misplaced", list2, 5, edit(list2, ` at=`, ` from="2025-01-01T00:00:00Z" at=`)},
	{"change in a list", "attribute-misplaced", list2, 6, edit(list2, `<rs:md hash`, `<rs:md change="updated" hash`)},
	{"at of changes", "attribute-misplaced", changes2, 5, edit(changes2, ofChanges, `<rs:md capability="changelist" from="2025-02-02T00:00:00Z" at="2025-02-02T00:00:00Z"/>`)},
	{"completed before at", "completed-before-at", list2, 5, edit(list2, ` at=`, ` completed="2025-01-01T00:00:00Z" at=`)},
	{"until before from", "until-before-from", chDump, 4, edit(chDump, ` from="2025-01-01T00:00:00Z"/>`, ` from="2025-01-01T00:00:00Z" until="2024-01-01T00:00:00Z"/>`)},
	{"often", "changefreq-value", list1, 8, edit(list1, "daily", "often")},
	{"hash without algorithm", "hash-syntax", list1, 7, edit(list1, "sha-256:{sha256 /a}", "{sha256 /a}")},
	{"length in words", "length-value", list1, 7, edit(list1, `length="{length /a}"`, `length="4 bytes"`)},
	{"priority of a link", "pri-value", list2, 7, edit(list2, `pri="1"`, `pri="0"`)},
	{"link without rel", "link-rel-missing", list2, 7, edit(list2, `rel="describedby" `, "")},
	{"link without href", "link-href-missing", list2, 7, edit(list2, ` href="{base}/c.meta"`, "")},
	{"short digest", "hash-digest", list1, 6, edit(list1, "sha-256:{sha256 /a}", "sha-256:{sha256 /a} md5:12ab")},
	{"type without subtype", "type-syntax", list1, 6, edit(list1, `hash="sha-256:{sha256 /a}" length="{length /a}" type="text/plain"`, `hash="sha-256:{sha256 /a}" type="text"`)},

	// Times and order.
	{"newest change first", "entry-order", changes2, 7, both(edit(changes2, "2025-02-03", "2025-02-05"))},
	{"newest list first", "entry-order", changes, 6, func(t *testing.T, s *site) {
		first := `<sitemap><loc>{base}/changes-1.xml</loc><rs:md from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/></sitemap>` + "\n"
		s.edit(t, changes, first, "")
		s.edit(t, changes, "</sitemapindex>", first+"</sitemapindex>")
	}},
	{"change before from", "datetime-interval", changes2, 6, edit(changes2, `datetime="2025-02-03T`, `datetime="2025-02-01T`)},
	{"change after until", "datetime-interval", changes1, 8, edit(changes1, `datetime="2025-02-02T00:00:00Z"`, `datetime="2025-02-02T00:00:01Z"`)},
	{"at in the future", "time-future", list2, 5, edit(list2, ` at="2025`, ` at="2125`)},
	{"datetime in the future", "time-future", changes2, 7, edit(changes2, `datetime="2025-02-04`, `datetime="2125-02-04`)},
	{"other interval", "part-interval", changes, 6, edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T00:00:00Z" until="2025-02-10T00:00:00Z"/>`)},
	{"closed part of an open entry", "part-interval", changes, 6, edit(changes2, ofChanges, `<rs:md capability="changelist" from="2025-02-02T00:00:00Z" until="2025-02-10T00:00:00Z"/>`)},
	{"gap", "interval-gap", changes, 6, both(edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-02T12:00:00Z"/>`), edit(changes2, `from="2025-02-02T00:00:00Z"`, `from="2025-02-02T12:00:00Z"`))},
	{"overlap", "interval-overlap", changes, 6, both(edit(changes, `<rs:md from="2025-02-02T00:00:00Z"/>`, `<rs:md from="2025-02-01T12:00:00Z"/>`), edit(changes2, `from="2025-02-02T00:00:00Z"`, `from="2025-02-01T12:00:00Z"`))},
	{"packages overlap", "interval-overlap", chDump, 6, edit(chDump, "</urlset>", `<url><loc>{base}/changedump-1.zip</loc><rs:md from="2025-02-01T00:00:00Z" until="2025-02-02T00:00:00Z"/></url></urlset>`)},

	// Links and the tree.
	{"no up", "link-up-missing", list, 3, edit(list, up, "")},
	{"up of a Capability List", "link-up-missing", caps, 3, edit(caps, `<rs:ln rel="up" href="{base}/.well-known/resourcesync"/>`+"\n", "")},
	{"up elsewhere", "link-up-wrong", list, 4, edit(list, "{base}/caps.xml", "{base}/other.xml")},
	{"index elsewhere", "link-index-wrong", list2, 5, edit(list2, "{base}/list.xml", "{base}/other.xml")},
	{"a missing part", "unreachable", list, 6, func(_ *testing.T, s *site) { delete(s.files, list2) }},
	{"a part of another network", "document-internal", list, 6, with(list2, func(f *file) {
		f.serve = func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, "http://10.255.255.1/", http.StatusFound)
		}
	})},
	{"robots.txt", "robots-disallowed", caps, 6, func(_ *testing.T, s *site) {
		s.add("/robots.txt", "User-agent: *\nDisallow: /dump.xml\n").kind = "text/plain"
	}},
	{"an index in an index", "index-nested", "/list-3.xml", 5, func(t *testing.T, s *site) {
		s.add("/list-3.xml", index+up+`<rs:ln rel="index" href="{base}/list.xml"/>
<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/><sitemap><loc>{base}/list-2.xml</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap></sitemapindex>`)
		s.edit(t, list, "</sitemapindex>", `<sitemap><loc>{base}/list-3.xml</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap></sitemapindex>`)
	}},
	{"101 Source Descriptions", "discovery-endless", "/description-100.xml", 0, described(100)},
	{"next page", "list-paging", list2, 6, nextPages},
	{"changes begin too late", "changes-gap", changes, 4, both(edit(list, "2025-03-01", "2024-03-01"), edit(list1, "2025-03-01", "2024-03-01"), edit(list2, "2025-03-01", "2024-03-01"))},
	{"a resource twice", "resource-repeated", list2, 8, edit(list2, "</urlset>", entryA+"</urlset>")},
	{"a resource twice, with other metadata", "resource-conflict", list2, 8, edit(list2, "</urlset>", strings.Replace(entryA, "2025-02-01", "2025-02-02", 1)+"</urlset>")},
	{"deleted and listed", "list-contradicts-changes", list2, 6, edit(changes2, "{base}/d<", "{base}/c<")},
	{"created and not listed", "list-contradicts-changes", changes2, 7, edit(changes2, `change="deleted"`, `change="created"`)},
	{"closed list changes", "closed-changed", changes1, 5, changing(changes1, `datetime="2025-02-01T00:00:00Z"`, `datetime="2025-01-31T00:00:00Z"`)},

	// Responses.
	{"gzip for everybody", "identity", wellKnown, 0, with(wellKnown, func(f *file) { f.forceGzip = true })},

	// Resources.
	{"a missing resource", "resource-unreachable", list2, 6, func(_ *testing.T, s *site) { delete(s.files, "/c") }},
	{"an error", "resource-unreachable", list2, 6, with("/c", func(f *file) { f.status = http.StatusForbidden })},
	{"other length", "resource-length", list2, 6, edit(list2, `"{length /c}"`, `"9"`)},
	{"other hash", "resource-hash", list2, 6, edit(list2, "{sha256 /c}", "{sha256 /a}")},

	// Packages.
	{"a missing package", "package-unreachable", chDump, 5, func(_ *testing.T, s *site) { delete(s.packs, chDumpZIP) }},
	{"other package", "package-changed", dump, 5, edit(dump, "{sha256 /dump-1.zip}", "{sha256 /a}")},
	{"no ZIP", "package-unreadable", chDumpZIP, 0, func(_ *testing.T, s *site) {
		delete(s.packs, chDumpZIP)
		s.add(chDumpZIP, "not a package").noGzip = true
	}},
	{"a path that leads out", "package-name", chDumpZIP, 0, both(edit(chDumpZIP, `path="/1/a"`, `path="/../a"`), renameMember(chDumpZIP, "1/a", "../a"))},
	{"no manifest", "manifest-missing", chDumpZIP, 0, renameMember(chDumpZIP, "manifest.xml", "index.xml")},
	{"other manifest", "manifest-capability", chDumpZIP + "!/manifest.xml", 4, func(_ *testing.T, s *site) { s.packs[chDumpZIP] = s.packs[dumpZIP] }},
	{"a missing file", "package-file-missing", chDumpZIP + "!/manifest.xml", 5, removeMember(chDumpZIP, "1/a")},
	{"other length in a package", "package-file-content", chDumpZIP + "!/manifest.xml", 5, edit(chDumpZIP, "{length /a}", "9")},
	{"other hash in a package", "package-file-content", chDumpZIP + "!/manifest.xml", 5, edit(chDumpZIP, "{sha256 /a}", "{sha256 /b}")},
	{"an unlisted file", "package-file-unlisted", chDumpZIP, 0, func(_ *testing.T, s *site) { s.packs[chDumpZIP] = append(s.packs[chDumpZIP], member{"b", "B"}) }},
	{"a million files and one", "package-size", chDumpZIP, 0, pack(func(text string) string { return zip64(text, 1_000_001) })},
	{"other contents", "contents-differ", "/dump-1.xml", 0, edit("/dump-1.xml", "{base}/b<", "{base}/c<")},

	// Topics and hubs.
	{"no hub", "hub-missing", caps, 9, edit(caps, `/topic</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="{base}/hub"/>`, `/topic</loc><rs:md capability="change-notification"/>`)},
	{"no topic", "topic-unreachable", caps, 9, func(_ *testing.T, s *site) { delete(s.files, topic) }},
	{"topic without hub", "topic-hub", topic, 0, with(topic, func(f *file) { f.header = http.Header{"Link": {`<{base}/topic>; rel="self"`}} })},
	{"topic without self", "topic-self", topic, 0, with(topic, func(f *file) { f.header = http.Header{"Link": {`<{base}/hub>; rel="hub"`}} })},
	{"topic in HTML", "topic-type", framework, 0, with(framework, func(f *file) { f.kind = "text/html" })},
	{"overlapping notifications", "notification-overlap", topic, 4, nextNotification(`from="2025-02-03T12:00:00Z" until="2025-02-05T00:00:00Z"`)},
	{"hub is gone", "hub-unreachable", caps, 9, func(_ *testing.T, s *site) { delete(s.files, hub) }},
	{"hub fails", "hub-unreachable", caps, 9, with(hub, func(f *file) { f.serve = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) } })},
	{"WebSocket is gone", "websocket-unreachable", caps, 9, edit(caps, `/topic</loc><rs:md capability="change-notification"/>`, `/topic</loc><rs:md capability="change-notification"/><rs:ln rel="alternate" href="{socket}/nothing"/>`)},
	{"WebSocket without Upgrade", "websocket-unreachable", caps, 9, edit(caps, `<loc>{base}/topic</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="{base}/hub"/>`, `<loc>{socket}/c</loc><rs:md capability="change-notification"/>`)},
	{"hub accepts anything", "hub-careless", caps, 9, with(hub, func(f *file) { f.serve = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(202) } })},

	{"a hub that refuses", "hub-subscription", caps, 9, both(subscribed(nil), with(hub, func(f *file) {
		f.serve = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusForbidden) }
	}))},
	{"a hub that verifies nothing", "hub-verification", caps, 9, subscribed(func(string, url.Values) bool { return false })},

	// Links.
	{"another namespace of ResourceSync", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "http://www.openarchives.org/rs/2.0")},
	{"one slash after http:", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "http:/www.openarchives.org/rs/terms/")},
	{"no colon after http", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "http//www.openarchives.org/rs/terms/")},
	{"no scheme", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "www.openarchives.org/rs/terms/")},
	{"no such scheme", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "htp://www.openarchives.org/rs/terms/")},
	{"a host misspelt", "namespace", list2, 3, edit(list2, "http://www.openarchives.org/rs/terms/", "http://www.openarchive.org/rs/terms/")},
	{"an own relation", "relation-unregistered", list2, 6, edit(list2, `rel="describedby"`, `rel="license-of"`)},
	{"an own relation of a document", "relation-unregistered", list2, 6, edit(list2, `<rs:ln rel="index"`, `<rs:ln rel="parent" href="{base}/"/>`+"\n"+`<rs:ln rel="index"`)},
	{"a patch without type", "patch-type-missing", changes2, 6, patch(changes2, "")},
	{"a patch in a package without path", "patch-path-missing", chDumpZIP + "!/manifest.xml", 5, patch(chDumpZIP, ` type="application/json-patch"`)},
	{"a patch in a Resource List", "patch-misplaced", list2, 6, patch(list2, ` type="application/json-patch"`)},
	{"a TimeGate with a type", "timegate-attributes", list2, 6, edit(list2, `rel="describedby" href="{base}/c.meta" pri="1"`, `rel="timegate" href="{base}/c.meta" type="text/plain"`)},

	{"a version is gone", "version-missing", list2, 6, edit(list2, `rel="describedby" href="{base}/c.meta" pri="1"`, `rel="memento" href="{base}/c.old"`)},
	{"a version of a change is gone", "version-missing", changes2, 6, both(edit(changes2, `datetime="2025-02-03T00:00:00Z"/></url>`, `datetime="2025-02-03T00:00:00Z"/><rs:ln rel="memento" href="{base}/c.old"/></url>`), func(_ *testing.T, s *site) {
		s.files["/c.old"] = &file{status: http.StatusGone}
	})},
	{"a resource of another set", "link-uncovered", list2, 6, both(secondSet, with("/c", func(f *file) {
		f.header = http.Header{"Link": {`<{base}/caps-2.xml>; rel="resourcesync"`}}
	}))},
	{"a resource in no package", "dump-incomplete", list2, 6, newDump},

	// Parts and packages.
	{"an index written as a list", "index-as-urlset", changes, 5, indexAsURLSet},
	{"a part that ends after its index", "until-after-index", changes, 5, both(edit(changes, `from="2025-01-01T00:00:00Z"/>`, `from="2025-01-01T00:00:00Z" until="2025-02-01T00:00:00Z"/>`), onlyClosed)},
	{"a package that ends after its dump", "until-after-index", chDump, 5, edit(chDump, `capability="changedump" from="2025-01-01T00:00:00Z"/>`, `capability="changedump" from="2025-01-01T00:00:00Z" until="2025-02-01T00:00:00Z"/>`)},
	{"an open part of a closed index", "open-in-closed-index", changes, 6, edit(changes, `capability="changelist" from="2025-01-01T00:00:00Z"/>`, `capability="changelist" from="2025-01-01T00:00:00Z" until="2025-03-01T00:00:00Z"/>`)},
	{"packages in the wrong order", "package-order", chDump, 6, edit(chDump, "</urlset>", `<url><loc>{base}/changedump-1.zip</loc><rs:md from="2024-01-01T00:00:00Z" until="2025-01-01T00:00:00Z" type="application/zip"/></url></urlset>`)},
	{"an index of packages in the wrong order", "package-order", chDump, 6, changeDumpIndex(2, 1)},
	{"packages of two formats", "package-formats", chDump, 6, func(t *testing.T, s *site) {
		s.edit(t, chDump, "</urlset>", `<url><loc>{base}/changedump-2.zip</loc><rs:md from="2025-02-02T00:00:00Z" type="application/x-tar"/></url></urlset>`)
		s.packs["/changedump-2.zip"] = s.packs[chDumpZIP]
	}},
	{"a part without index", "notification-index-missing", framework, 3, notifyDocuments(`<loc>{base}/list-1.xml</loc><rs:md change="updated" datetime="2025-03-01T00:00:00Z" capability="resourcelist"/>`)},
	{"a part of changes without index", "notification-index-missing", framework, 3, notifyDocuments(`<loc>{base}/changes-2.xml</loc><rs:md change="updated" capability="changelist"/>`)},
	{"a part with another index", "notification-index-missing", framework, 3, notifyDocuments(`<loc>{base}/list-1.xml</loc><rs:md change="updated" datetime="2025-03-01T00:00:00Z" capability="resourcelist"/><rs:ln rel="index" href="{base}/list-2.xml"/>`)},
	{"a notification links to another list", "link-up-wrong", topic, 4, edit(topic, `href="{base}/caps.xml"`, `href="{base}/list.xml"`)},
	{"a notification of a dump links to the Source Description", "link-up-wrong", framework, 3, both(notify("resourcedump", "created"),
		edit(framework, `<rs:md capability="framework`, `<rs:ln rel="up" href="{base}/.well-known/resourcesync"/><rs:md capability="framework`))},
	{"an index is announced", "notification-parts", framework, 3, notifyDocuments(`<loc>{base}/list.xml</loc><rs:md change="created" datetime="2025-03-01T00:00:00Z" capability="resourcelist"/>`)},
	{"two new parts are announced", "notification-parts", framework, 4, notifyDocuments(createdPart1, strings.ReplaceAll(createdPart1, "list-1", "list-2"))},
	{"one topic for both", "topic-shared", caps, 10, edit(caps, `<loc>{base}/framework</loc>`, `<loc>{base}/topic</loc>`)},
	{"a dump is deleted", "notification-change", framework, 3, notify("resourcedump", "deleted")},
	{"a dump is updated", "notification-change", framework, 3, notify("resourcedump", "updated")},
	{"a list is deleted", "notification-change", framework, 3, notify("resourcelist", "deleted")},

	// Advice.
	{"no datetime", "datetime-missing", changes2, 7, edit(changes2, ` datetime="2025-02-04T00:00:00Z"`, "")},
	{"the newest change first, without datetime", "newest-first", changes2, 7, func(t *testing.T, s *site) {
		s.edit(t, changes2, `/c</loc><rs:md change="updated" datetime="2025-02-03T00:00:00Z"`, `/c</loc><lastmod>2025-02-05T00:00:00Z</lastmod><rs:md change="updated"`)
		s.edit(t, changes2, `/d</loc><rs:md change="deleted" datetime="2025-02-04T00:00:00Z"`, `/d</loc><lastmod>2025-02-04T00:00:00Z</lastmod><rs:md change="deleted"`)
		s.edit(t, changes2, "</urlset>", `<url><loc>{base}/e</loc><lastmod>2025-02-03T00:00:00Z</lastmod><rs:md change="deleted"/></url></urlset>`)
	}},
	{"no times in an index", "lastmod-missing", list, 5, edit(list, "<lastmod>2025-03-01T00:00:00Z</lastmod>", "")},
	{"nothing but a URI", "resource-undescribed", list2, 8, func(t *testing.T, s *site) {
		s.files["/e"] = s.files["/a"]
		s.edit(t, list2, "</urlset>", "<url><loc>{base}/e</loc></url></urlset>")
	}},
	{"only an unknown hash", "hash-algorithm", list1, 6, edit(list1, "sha-256:{sha256 /a}", "crc32:12345678")},
	{"a described deletion", "deleted-described", changes2, 7, edit(changes2, `change="deleted"`, `change="deleted" length="3"`)},
	{"no index link", "link-index-missing", list2, 4, edit(list2, `<rs:ln rel="index" href="{base}/list.xml"/>`+"\n", "")},
	{"large document", "document-large", list2, 0, sized(10_000_001)},
	{"other host", "mixed-hosts", list2, 8, func(t *testing.T, s *site) {
		s.edit(t, list2, "</urlset>", "<url><loc>urn:isbn:1</loc>"+lastmodA+"</url><url><loc>"+strings.Replace(s.URL, "127.0.0.1", "LOCALHOST", 1)+"/a</loc>"+lastmodA+"</url></urlset>")
	}},
	{"no list", "baseline-missing", caps, 4, both(edit(caps, `<url><loc>{base}/list.xml</loc><rs:md capability="resourcelist"/></url>`, ""), edit(caps, `<url><loc>{base}/dump.xml</loc><rs:md capability="resourcedump"/></url>`, ""))},
	{"no changes", "changes-missing", caps, 4, both(edit(caps, `<url><loc>{base}/changes.xml</loc><rs:md capability="changelist"/></url>`, ""), edit(caps, `<url><loc>{base}/changedump.xml</loc><rs:md capability="changedump"/></url>`, ""))},
	{"no media type", "content-type", list2, 0, with(list2, func(f *file) { f.kind = "application/octet-stream" })},
	{"a document as PDF", "content-type-unreadable", list2, 0, with(list2, func(f *file) { f.kind = "application/pdf" })},
	{"an index without entries", "index-empty", dump, 4, func(_ *testing.T, s *site) {
		s.add(dump, index+up+`<rs:md capability="resourcedump" at="2025-03-01T00:00:00Z"/></sitemapindex>`)
	}},
	{"no gzip", "no-gzip", list2, 0, both(edit(list2, "</urlset>", strings.Repeat("<!-- .......... -->", 500)+"</urlset>"), with(list2, func(f *file) { f.noGzip = true }))},
	{"no validators", "no-validators", list2, 0, with(list2, func(f *file) { f.noETag = true })},
	{"never 304", "no-304", list2, 0, with(list2, func(f *file) { f.ignoreConditions = true })},
	{"the time of the request", "unstable", list2, 0, changing(list2, "2025-03-01T", "2025-03-02T")},
	{"redirect", "redirected", list, 6, func(t *testing.T, s *site) {
		s.files["/moved.xml"] = &file{serve: func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, list2, http.StatusMovedPermanently)
		}}
		s.edit(t, list, "{base}/list-2.xml", "{base}/moved.xml")
	}},
	{"other media type", "resource-type", list2, 6, with("/c", func(f *file) { f.kind = "text/html" })},
	{"manifest last", "manifest-position", chDumpZIP, 0, func(_ *testing.T, s *site) { slices.Reverse(s.packs[chDumpZIP]) }},
	{"no well-known URI", "well-known-missing", wellKnown, 0, func(t *testing.T, s *site) {
		s.files["/description.xml"] = s.files[wellKnown]
		delete(s.files, wellKnown)
		s.edit(t, caps, "{base}/.well-known/resourcesync", "{base}/description.xml")
		s.add("/", `<html><head><link rel="resourcesync" href="/caps.xml"></head></html>`).kind = "text/html"
		s.edit(t, list2, "</urlset>", "<url><loc>{base}/</loc>"+lastmodA+"</url></urlset>")
	}},
}

// noContents removes the link to the copy of a manifest.
func noContents(t *testing.T, s *site) {
	s.edit(t, dump, "\n"+`<rs:ln rel="contents" href="{base}/dump-1.xml"/>`, "")
}

func removeMember(pack, name string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		s.packs[pack] = slices.DeleteFunc(s.packs[pack], func(m member) bool { return m.name == name })
	}
}

func renameMember(pack, old, new string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		for i := range s.packs[pack] {
			if s.packs[pack][i].name == old {
				s.packs[pack][i].name = new
			}
		}
	}
}

// patch adds a link to a patch to the first entry.
func patch(path, attributes string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		if path == chDumpZIP {
			s.edit(t, path, `length="{length /a}"/></url>`, `length="{length /a}"/><rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="{base}/patch"`+attributes+`/></url>`)
			return
		}
		first := map[string]string{changes2: `datetime="2025-02-03T00:00:00Z"/></url>`, list2: `pri="1"/></url>`}[path]
		s.edit(t, path, first, strings.TrimSuffix(first, "</url>")+`<rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="{base}/patch"`+attributes+`/></url>`)
	}
}

// indexAsURLSet writes the Change List Index as a Change List.
func indexAsURLSet(t *testing.T, s *site) {
	s.edit(t, changes, "sitemapindex", "urlset")
	s.edit(t, changes, "sitemap>", "url>")
	s.edit(t, changes, `<rs:md from=`, `<rs:md capability="changelist" from=`)
}

// changeDumpIndex divides the Change Dump into two, which an index lists in an order.
func changeDumpIndex(order ...int) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		entries := ""
		for _, i := range order {
			path, interval := fmt.Sprintf("/changedump-%d.xml", i), `from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"`
			if i == 2 {
				interval = `from="2025-02-02T00:00:00Z" until="2025-02-03T00:00:00Z"`
			}
			s.add(path, urlset+up+`<rs:ln rel="index" href="{base}/changedump.xml"/><rs:md capability="changedump" `+interval+`/>
<url><loc>{base}/changedump-1.zip</loc><rs:md `+interval+` type="application/zip"/></url></urlset>`)
			entries += `<sitemap><loc>{base}` + path + `</loc><rs:md ` + interval + `/></sitemap>` + "\n"
		}
		s.add(chDump, index+up+`<rs:md capability="changedump" from="2025-01-01T00:00:00Z"/>`+"\n"+entries+"</sitemapindex>")
	}
}

// secondSet adds a set with the resource a.
func secondSet(t *testing.T, s *site) {
	s.edit(t, wellKnown, "</urlset>", `<url><loc>{base}/caps-2.xml</loc><rs:md capability="capabilitylist"/></url></urlset>`)
	s.add("/caps-2.xml", urlset+`<rs:ln rel="up" href="{base}/.well-known/resourcesync"/><rs:md capability="capabilitylist"/>
<url><loc>{base}/list-a.xml</loc><rs:md capability="resourcelist"/></url><url><loc>{base}/changes-a.xml</loc><rs:md capability="changelist"/></url></urlset>`)
	s.add("/list-a.xml", urlset+strings.ReplaceAll(up, "caps", "caps-2")+ofList1+entryA+"</urlset>")
	s.add("/changes-a.xml", urlset+strings.ReplaceAll(up, "caps", "caps-2")+`<rs:md capability="changelist" from="2025-01-01T00:00:00Z"/></urlset>`)
}

// onlyClosed removes the open Change List.
func onlyClosed(t *testing.T, s *site) {
	s.edit(t, changes, `<sitemap><loc>{base}/changes-2.xml</loc><rs:md from="2025-02-02T00:00:00Z"/></sitemap>`+"\n", "")
}

// notify lets the framework topic report the change of a document.
func notify(capability, change string) func(*testing.T, *site) {
	return notifyDocuments(`<loc>{base}/dump.xml</loc><rs:md change="` + change + `" capability="` + capability + `"/>`)
}

// createdPart1 is an entry of a Framework Notification.
const createdPart1 = `<loc>{base}/list-1.xml</loc><rs:md change="created" datetime="2025-03-01T00:00:00Z" capability="resourcelist"/><rs:ln rel="index" href="{base}/list.xml"/>`

// notifyDocuments lets the framework topic have entries.
func notifyDocuments(entries ...string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		s.files[framework].body = urlset + `<rs:md capability="framework-notification"/><url>` + strings.Join(entries, "</url>\n<url>") + `</url></urlset>`
	}
}

// nextPages continues the Resource List with two pages that no index lists.
func nextPages(t *testing.T, s *site) {
	next := func(path string) string { return `<rs:ln rel="next" href="{base}` + path + `"/>` + "\n" }
	s.edit(t, list2, `<rs:ln rel="index"`, next("/list-3.xml")+`<rs:ln rel="index"`)
	s.add("/list-3.xml", urlset+up+next("/list-4.xml")+ofList1+"</urlset>")
	s.add("/list-4.xml", urlset+up+ofList1+"</urlset>")
}

// nextNotification replaces the notification of a topic from the second request on.
func nextNotification(interval string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		header := http.Header{"Link": {s.fill(s.files[topic].header.Get("Link"))}}
		changing(topic, `from="2025-02-03T00:00:00Z" until="2025-02-04T00:00:00Z"`, interval, header)(t, s)
	}
}

// changing lets a document differ from the second request on.
func changing(path, old, new string, headers ...http.Header) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		f := *s.files[path]
		s.files[path].serve = func(w http.ResponseWriter, r *http.Request, n int) {
			now := f
			if n > 1 {
				now.body = strings.ReplaceAll(f.body, old, new)
			}
			w.Header().Set("Content-Type", "application/xml")
			for _, h := range headers {
				maps.Copy(w.Header(), h)
			}
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
			fmt.Fprint(w, s.fill(now.body))
		}
	}
}

// TestSeeded finds each seed by its rule and by no other. Without the rule, nothing is found:
// everyday runs check that for every eighth seed, because it does not depend on the rule.
func TestSeeded(t *testing.T) {
	planted, sentences := make(map[string]bool), make(map[string][]check.Sentence)
	for i, seed := range seeds {
		planted[seed.rule] = true
		t.Run(strings.ReplaceAll(seed.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := correct(t)
			seed.plant(t, s)
			r, counts := s.judge(t, nil)
			if found := rulesOf(counts); !slices.Equal(found, expected(seed.rule, companions[seed.rule])) {
				t.Fatalf("found %v, want %s:\n%s", found, seed.rule, describe(r))
			}
			f := r.Findings[slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Rule == seed.rule })]
			if f.Document != s.URL+seed.document || seed.line != 0 && f.Line != seed.line {
				t.Errorf("found in %s:%d, want %s:%d\n%s", f.Document, f.Line, seed.document, seed.line, s.fill(s.files[list].body))
			}
			if s := f.Sentence(); !slices.Contains(sentences[seed.rule], s) {
				t.Errorf("%+v is no sentence of the rule", s)
			}
			if f.Section == "" || f.Remedy == "" || f.Message == "" || r.OK() == f.Fails() {
				t.Errorf("%+v, OK is %t", f, r.OK())
			}
			if i%needs.Size(8, 1) != 0 {
				return
			}
			s = correct(t)
			seed.plant(t, s)
			o := options()
			o.Ignore = expected(seed.rule, companions[seed.rule])
			if r, counts := s.judge(t, o); len(counts) > 0 || !r.OK() || r.Omitted == 0 {
				t.Errorf("without the rule, %d are omitted:\n%s", r.Omitted, describe(r))
			}
		})
	}
	for _, rule := range check.Rules() {
		sentences[rule.ID] = rule.Sentences
		if !planted[rule.ID] {
			t.Errorf("no violation of %s is planted", rule.ID)
		}
	}
}

// companions are the rules that others cannot do without.
var companions = map[string]string{
	"newest-first": "datetime-missing", // only a change without datetime is judged by its lastmod
}
