package rshttp_test

import (
	"context"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// browser is the header of a browser that navigates.
var browser = []string{
	"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
	"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Dest", "document",
}

const (
	pageHTML   = "text/html; charset=utf-8"
	googlebot  = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	javaAccept = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
)

// TestPageNegotiation requests documents as browsers and harvesters do.
func TestPageNegotiation(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2}, Sitemaps: rshttp.PlainSitemaps}, rshttp.Set{Provider: papers(t, "a", "b", "c")})
	const list = "/resourcesync/resourcelist.xml"
	const vary = "Accept-Encoding, Accept, Sec-Fetch-Dest"
	for _, tt := range []struct {
		name, path string
		header     []string
		want       string
		vary       string
		cache      string
	}{
		{"browser", list, browser, pageHTML, vary, "private, no-cache"},
		{"browser, Source Description", "/.well-known/resourcesync", browser, pageHTML, vary, "private, no-cache"},
		{"browser, page of a list", "/resourcesync/resourcelist/~Yw.xml", browser, pageHTML, vary, "private, no-cache"},
		{"browser, raw", list + "?xml", browser, "application/xml", vary, "public, no-cache"},
		{"browser, sitemap", "/resourcesync/sitemap.xml", browser, "application/xml", "Accept-Encoding", "public, no-cache"},
		{"fetch() of a browser", list, append(browser[:4:4], "Sec-Fetch-Dest", "empty"), "application/xml", vary, "public, no-cache"},
		{"harvester", list, nil, "application/xml", vary, "public, no-cache"},
		{"Java", list, []string{"User-Agent", "Java/21", "Accept", javaAccept}, "application/xml", vary, "public, no-cache"},
		{"Googlebot", list, []string{"User-Agent", googlebot, "Accept", browser[3]}, "application/xml", vary, "public, no-cache"},
		{"harvester at .html", "/resourcesync/resourcelist.html", nil, pageHTML, vary, "private, no-cache"},
	} {
		res := get(t, src, tt.path, tt.header...)
		h := res.Header
		if res.StatusCode != 200 || h.Get("Content-Type") != tt.want || h.Get("Vary") != tt.vary || h.Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d, %s, Vary: %s, Cache-Control: %s", tt.name, res.StatusCode, h.Get("Content-Type"), h.Get("Vary"), h.Get("Cache-Control"))
		}
		if isHTML := tt.want == pageHTML; isHTML != (h.Get("Content-Security-Policy") != "") || isHTML != (h.Get("X-Robots-Tag") == "noindex, nofollow") {
			t.Errorf("%s: Content-Security-Policy %q, X-Robots-Tag %q", tt.name, h.Get("Content-Security-Policy"), h.Get("X-Robots-Tag"))
		}
		// The entity tag of one is never valid for the other.
		other := get(t, src, tt.path, "If-None-Match", h.Get("ETag"))
		if same := other.StatusCode == 304; same != (tt.want == "application/xml") && !strings.HasSuffix(tt.path, ".html") {
			t.Errorf("%s: a harvester with the entity tag gets %d", tt.name, other.StatusCode)
		}
	}
}

// anchors returns the targets of the links in a page with an attribute rel, or all for "".
func anchors(page, rel string) []string {
	var out []string
	for {
		var tag string
		var found bool
		if _, page, found = strings.Cut(page, "<a "); !found {
			return out
		}
		if tag, page, found = strings.Cut(page, ">"); !found {
			return out
		}
		_, href, found := strings.Cut(tag, `href="`)
		target, _, closed := strings.Cut(href, `"`)
		if found && closed && (rel == "" || strings.Contains(tag, `rel="`+rel+`"`)) {
			out = append(out, html.UnescapeString(target))
		}
	}
}

// getPage returns the text of an HTML page, which is below 100 KB.
func getPage(t testing.TB, src *rshttp.Source, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	res := get(t, src, u.RequestURI())
	html := text(t, res)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != pageHTML {
		t.Fatalf("%s: %d %s\n%s", uri, res.StatusCode, res.Header.Get("Content-Type"), html)
	}
	if len(html) >= 100_000 {
		t.Errorf("%s has %d bytes", uri, len(html))
	}
	return html
}

// rowsOf returns the resources that a page and those after it list.
func rowsOf(t testing.TB, src *rshttp.Source, uri string) (rows []string, pages int) {
	t.Helper()
	for uri != "" {
		html := getPage(t, src, uri)
		pages++
		rows = append(rows, anchors(html, "nofollow")...)
		next := anchors(html, "next")
		if uri = ""; len(next) > 0 {
			uri = next[0]
		}
	}
	return rows, pages
}

// TestPagePaging walks through lists page by page. No resource and no change is missing.
func TestPagePaging(t *testing.T) {
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { return now }})
	var want []string
	for i := range 700 {
		now = now.Add(time.Duration(i%7) * time.Minute)
		uri := fmt.Sprintf("https://example.org/papers/%04d/%s", i, strings.Repeat("%C3%BC&'", i%240))
		if err := set.Put(t.Context(), resourcesync.Resource{Key: fmt.Sprintf("%04d", i), URI: uri, Length: resourcesync.Bytes(int64(i * 7919 % 1000))}); err != nil {
			t.Fatal(err)
		}
		want = append(want, uri)
	}
	src := newSource(t, nil, rshttp.Set{Provider: set})
	rows, pages := rowsOf(t, src, "/resourcesync/resourcelist.html")
	if !slices.Equal(rows, want) || pages < 5 {
		t.Errorf("%d resources on %d pages, want %d in order", len(rows), pages, len(want))
	}
	slices.Reverse(want)
	for _, uri := range []string{"/resourcesync/changelist.html", "/resourcesync/changelist/recent.html"} {
		if changes, _ := rowsOf(t, src, uri); !slices.Equal(changes, want) {
			t.Errorf("%s and its next pages: %d changes, want %d, the newest first", uri, len(changes), len(want))
		}
	}
}

// TestPages requests the page of every kind of document, follows its links, and compares
// documents with their pages.
func TestPages(t *testing.T) {
	set := shelfOf(t, 5, 100)
	if err := set.Delete(t.Context(), "000004.txt"); err != nil {
		t.Error(err)
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2, Settle: -1, PackageEvery: time.Second}, Hub: &hub.Options{}},
		rshttp.Set{Name: "papers", Provider: set, ChangeOpener: history{set}, RemoteHubs: []topic.RemoteHub{{URI: "https://hub.example.net/?secret=1", Token: "token"}}})
	seen := map[string]string{}
	queue := []string{src.Page()}
	for len(queue) > 0 {
		uri := queue[0]
		queue = queue[1:]
		if seen[uri] != "" || !strings.HasPrefix(uri, base) || !strings.Contains(uri, ".html") {
			continue
		}
		seen[uri] = getPage(t, src, uri)
		queue = append(queue, anchors(seen[uri], "")...)
	}
	for _, kind := range []string{
		"description.html", "papers/capabilitylist.html", "papers/resourcelist.html", "papers/resourcelist/~", "papers/changelist.html", "papers/changelist/recent.html",
		"papers/resourcedump.html", "papers/resourcedump/", "papers/changedump.html", "papers/changedump/", "papers/change.html", "papers/framework.html",
	} {
		found := false
		for uri, html := range seen {
			if !strings.HasPrefix(uri, base+kind) {
				continue
			}
			found = true
			for _, private := range []string{"secret=1", "token"} {
				if strings.Contains(html, private) {
					t.Errorf("%s shows %s", uri, private)
				}
			}
			for _, want := range []string{"<h1>", `rel="alternate" type="application/xml"`, `lang="en"`} {
				if !strings.Contains(html, want) {
					t.Errorf("%s lacks %s", uri, want)
				}
			}
		}
		if !found {
			t.Errorf("no link leads to %s", kind)
		}
	}
}

// TestPagesShowDocuments compares the pages of lists with the entries of their documents.
func TestPagesShowDocuments(t *testing.T) {
	set := shelfOf(t, 30, 100)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 4, Settle: -1, PackageEvery: time.Second}},
		rshttp.Set{Provider: set, ChangeOpener: history{set}, Archiver: cabinet{resourcesync.ResourceListArchive: 7, resourcesync.ChangeListArchive: 2}})
	queue, seen := []string{base + "capabilitylist.xml"}, 0
	for len(queue) > 0 {
		path := strings.TrimPrefix(queue[0], "https://example.org")
		queue = queue[1:]
		if !strings.HasPrefix(path, "/resourcesync/") || !strings.HasSuffix(path, ".xml") {
			continue
		}
		seen++
		head, entries := decode(t, src, path)
		shown := anchors(getPage(t, src, strings.TrimSuffix(path, ".xml")+".html"), "")
		if c := head.Metadata.Capability; strings.HasPrefix(string(c), "change") && !strings.HasSuffix(string(c), "-archive") {
			slices.Reverse(entries) // the newest first
		}
		at := 0
		for _, e := range entries {
			uri := e.Loc
			if strings.HasPrefix(uri, base) && strings.HasSuffix(uri, ".xml") {
				uri = strings.TrimSuffix(uri, ".xml")
				queue, uri = append(queue, e.Loc), uri+".html"
			}
			for _, l := range e.Links {
				if l.Rel == resourcesync.RelContents {
					queue = append(queue, l.Href)
				}
			}
			i := slices.Index(shown[at:], uri)
			if i < 0 {
				t.Errorf("the page of %s does not show %s, or not in its place", path, uri)
				break
			}
			at += i + 1
		}
	}
	if seen < 30 {
		t.Errorf("%d documents", seen)
	}
}

func TestPageErrors(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: papers(t, "a")})
	for path, want := range map[string]int{
		"/resourcesync/resourcelist.html?after=%21":                          404,
		"/resourcesync/changelist.html?after=yesterday":                      404,
		"/resourcesync/resourcelist.html?after=1":                            404,
		"/resourcesync/resourcelist.html?after=20250101T000000.000000000Z":   404,
		"/resourcesync/changelist.html?after=1":                              404,
		"/resourcesync/changelist.html?after=~YQ":                            404,
		"/resourcesync/changelist.html?after=99991231T000000.000000000Z":     200,
		"/resourcesync/resourcelist/x.html":                                  404,
		"/resourcesync/resourcelist.html?unknown=x":                          200,
		"/resourcesync/resourcelist.html?after=~%21":                         404,
		"/resourcesync/description.html?after=x":                             200,
		"/resourcesync/description.html?after=-9999999999":                   200,
		"/resourcesync/changelist/20250101T000000.000000000Z.html":           410,
		"/resourcesync/resourcelist.html?after=" + strings.Repeat("A", 4000): 404,
	} {
		res := get(t, src, path)
		if res.StatusCode != want || res.Header.Get("Content-Type") != pageHTML || res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %s, want %d", path, res.StatusCode, res.Header.Get("Content-Type"), want)
		}
		if want != 200 && (res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(text(t, res), "Request id")) {
			t.Errorf("%s: Cache-Control %s", path, res.Header.Get("Cache-Control"))
		}
	}
	if res := do(t, src, http.MethodHead, "/resourcesync/resourcelist.html"); res.StatusCode != 200 || text(t, res) != "" {
		t.Errorf("HEAD: %d", res.StatusCode)
	}
	if res := do(t, src, http.MethodPost, "/resourcesync/resourcelist.html"); res.StatusCode != 405 {
		t.Errorf("POST: %d", res.StatusCode)
	}
}

// TestPagesOption turns pages off, and adds to their look.
func TestPagesOption(t *testing.T) {
	src := newSource(t, &rshttp.Options{Pages: rshttp.Pages{Off: true}}, rshttp.Set{Provider: papers(t, "a")})
	if res := get(t, src, "/resourcesync/resourcelist.html"); res.StatusCode != 404 || src.Page() != "" {
		t.Errorf("without pages: %d, %q", res.StatusCode, src.Page())
	}
	if res := get(t, src, "/resourcesync/resourcelist.xml", browser...); res.Header.Get("Content-Type") != "application/xml" || res.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("without pages: %v", res.Header)
	}
	own := rshttp.Pages{Style: "h1 { color: red }", Header: `<p><img src="/logo.png" alt="Ours"></p>`, Footer: "<p>Imprint</p>"}
	src = newSource(t, &rshttp.Options{Pages: own}, rshttp.Set{Provider: papers(t, "a")})
	for _, path := range []string{"/resourcesync/resourcelist.html", "/resourcesync/resourcelist.html?after=%21"} {
		res := get(t, src, path, browser...)
		page := text(t, res)
		for _, want := range []string{own.Style + "</style>", own.Header + `<header class="top">`, "</footer>" + own.Footer} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "img-src 'self' data:; font-src 'self';") {
			t.Errorf("%s: the policy is %s", path, csp)
		}
	}
	own.Style = "</style><script>"
	_, err := rshttp.New(base, []rshttp.Set{{Provider: papers(t, "a")}}, &rshttp.Options{Pages: own})
	if err == nil || !strings.Contains(err.Error(), "Pages.Style") {
		t.Errorf("a style sheet with an end tag: %v", err)
	}
}

// TestPageLimits: without a free place for unlisted documents, HTML pages are refused,
// because harvesters come first.
func TestPageLimits(t *testing.T) {
	set := &blocking{Set: papers(t, "a"), begun: make(chan struct{}), end: make(chan struct{})}
	src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 1, Wait: -1}}, rshttp.Set{Provider: set})
	done := make(chan int)
	go func() { done <- get(t, src, "/resourcesync/resourcelist.html").StatusCode }()
	<-set.begun
	if res := get(t, src, "/resourcesync/capabilitylist.html"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("a second page: %d", res.StatusCode)
	}
	close(set.end)
	if status := <-done; status != 200 {
		t.Errorf("the first page: %d", status)
	}
}

// A blocking set waits before it yields its resources.
type blocking struct {
	*memory.Set
	once       sync.Once
	begun, end chan struct{}
}

func (b *blocking) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	b.once.Do(func() { close(b.begun) })
	<-b.end
	return b.Set.Resources(ctx, r)
}

// BenchmarkPage compares HTML pages of a set of 10 million resources with the documents that
// they show, neither of them cached.
func BenchmarkPage(b *testing.B) {
	src := newSource(b, &rshttp.Options{Limits: rshttp.Limits{CacheBytes: -1}}, rshttp.Set{Provider: numbers(10_000_000)})
	index := get(b, src, "/resourcesync/resourcelist.html")
	part := anchors(text(b, index), "")[100]
	part = strings.TrimSuffix(strings.TrimPrefix(part, "https://example.org"), ".html")
	second := anchors(text(b, get(b, src, part+".html")), "next")[0]
	for name, paths := range map[string][2]string{
		"index": {"/resourcesync/resourcelist.html", "/resourcesync/resourcelist.xml"},
		"page":  {part + ".html", part + ".xml"},
		"next":  {strings.TrimPrefix(second, "https://example.org"), part + ".xml"},
	} {
		b.Run(name, func(b *testing.B) {
			compare(b, "html/xml", func() { render(b, src, paths[0]) }, func() { render(b, src, paths[1]) })
		})
	}
}
