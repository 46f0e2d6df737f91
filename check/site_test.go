package check_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/check"
)

// A site is a Source made of files. "{base}" in texts is its URL, "{socket}" the same with the
// scheme ws; "{length PATH}" and "{sha256 PATH}" are those of a file.
type site struct {
	*httptest.Server
	files map[string]*file
	packs map[string][]member // packages, by path

	callback *check.Callback // of its checks, or nil

	mu       sync.Mutex
	requests map[string]int // by path
}

// A file is the response for a path of a site.
type file struct {
	body   string
	kind   string      // Content-Type; "-" for none
	header http.Header // further fields
	status int

	noGzip, forceGzip, noETag, ignoreConditions bool

	// serve answers the n-th request, if it is not nil.
	serve func(w http.ResponseWriter, r *http.Request, n int)
}

// A member is a file of a package.
type member struct{ name, body string }

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{files: make(map[string]*file), packs: make(map[string][]member), requests: make(map[string]int)}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// add adds a document.
func (s *site) add(path, body string) *file {
	f := &file{body: body, kind: "application/xml"}
	s.files[path] = f
	return f
}

// edit replaces text in the documents and manifests that have it.
func (s *site) edit(t testing.TB, path, old, new string) {
	t.Helper()
	if old == new {
		t.Fatalf("an edit of %s changes nothing", path)
	}
	if f := s.files[path]; f != nil && strings.Contains(f.body, old) {
		f.body = strings.ReplaceAll(f.body, old, new)
		return
	}
	for i, m := range s.packs[path] {
		if strings.Contains(m.body, old) {
			s.packs[path][i].body = strings.ReplaceAll(m.body, old, new)
			return
		}
	}
	t.Fatalf("%s has no %q", path, old)
}

var placeholder = regexp.MustCompile(`\{(length|sha256) ([^}]*)\}`)

// text returns the body for a path.
func (s *site) text(path string) string {
	if pack := s.packs[path]; pack != nil {
		return s.zip(pack)
	}
	f := s.files[path]
	if f == nil {
		return ""
	}
	return s.fill(f.body)
}

func (s *site) fill(text string) string {
	text = strings.ReplaceAll(text, "{base}", s.URL)
	text = strings.ReplaceAll(text, "{socket}", "ws"+strings.TrimPrefix(s.URL, "http"))
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		body := s.text(m[2])
		if m[1] == "length" {
			return strconv.Itoa(len(body))
		}
		return fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	})
}

func (s *site) zip(pack []member) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range pack {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Deflate})
		w.Write([]byte(s.fill(m.body)))
	}
	z.Close()
	return b.String()
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	n := s.requests[r.URL.Path]
	s.mu.Unlock()
	if s.packs[r.URL.Path] != nil {
		w.Header().Set("Content-Type", "application/zip")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(s.text(r.URL.Path)))
		return
	}
	f := s.files[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	if f.serve != nil {
		f.serve(w, r, n)
		return
	}
	h := w.Header()
	for name, values := range f.header {
		for _, v := range values {
			h.Add(name, s.fill(v))
		}
	}
	if h["Content-Type"] = []string{f.kind}; f.kind == "-" {
		h["Content-Type"] = nil
	}
	body := s.text(r.URL.Path)
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body)))
	if !f.noETag {
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag && !f.ignoreConditions {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if f.forceGzip || !f.noGzip && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = compressed(body)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if f.status != 0 {
		w.WriteHeader(f.status)
	}
	w.Write([]byte(body))
}

// compressors are used again, because each has a megabyte.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

// compressed returns text in gzip.
func compressed(text string) string {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

const (
	urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
`
	index = `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
`
	up = `<rs:ln rel="up" href="{base}/caps.xml"/>
`
)

// The paths of the documents of a correct Source.
const (
	wellKnown = "/.well-known/resourcesync"
	caps      = "/caps.xml"
	list      = "/list.xml"
	list1     = "/list-1.xml"
	list2     = "/list-2.xml"
	changes   = "/changes.xml"
	changes1  = "/changes-1.xml"
	changes2  = "/changes-2.xml"
	dump      = "/dump.xml"
	dumpZIP   = "/dump-1.zip"
	chDump    = "/changedump.xml"
	chDumpZIP = "/changedump-1.zip"
	topic     = "/topic"
	framework = "/framework"
	hub       = "/hub"
)

// correct returns a Source that breaks no rule and needs no advice.
func correct(t testing.TB) *site {
	t.Helper()
	s := newSite(t)
	s.add(wellKnown, urlset+`<rs:md capability="description"/>
<url><loc>{base}/caps.xml</loc><rs:md capability="capabilitylist"/></url>
</urlset>`)
	s.add(caps, urlset+`<rs:ln rel="up" href="{base}/.well-known/resourcesync"/>
<rs:md capability="capabilitylist"/>
<url><loc>{base}/list.xml</loc><rs:md capability="resourcelist"/></url>
<url><loc>{base}/dump.xml</loc><rs:md capability="resourcedump"/></url>
<url><loc>{base}/changes.xml</loc><rs:md capability="changelist"/></url>
<url><loc>{base}/changedump.xml</loc><rs:md capability="changedump"/></url>
<url><loc>{base}/topic</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="{base}/hub"/></url>
<url><loc>{base}/framework</loc><rs:md capability="framework-notification"/><rs:ln rel="hub" href="{base}/hub"/><rs:ln rel="alternate" href="{socket}/socket"/></url>
</urlset>`)
	s.add(list, index+up+`<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/>
<sitemap><loc>{base}/list-1.xml</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap>
<sitemap><loc>{base}/list-2.xml</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap>
</sitemapindex>`)
	part := up + `<rs:ln rel="index" href="{base}/list.xml"/>
<rs:md capability="resourcelist" at="2025-03-01T00:00:00Z"/>
`
	s.add(list1, urlset+part+`<url><loc>{base}/a</loc><lastmod>2025-02-01T00:00:00Z</lastmod>
<rs:md hash="sha-256:{sha256 /a}" length="{length /a}" type="text/plain"/></url>
<url><loc>{base}/b</loc><lastmod>2025-02-02T00:00:00Z</lastmod><changefreq>daily</changefreq>
<rs:md hash="sha-256:{sha256 /b}" length="{length /b}" type="text/plain"/></url>
</urlset>`)
	s.add(list2, urlset+part+`<url><loc>{base}/c</loc><lastmod>2025-02-03T00:00:00Z</lastmod>
<rs:md hash="sha-256:{sha256 /c}" length="{length /c}" type="text/plain"/><rs:ln rel="describedby" href="{base}/c.meta" pri="1"/></url>
</urlset>`)
	s.add(changes, index+up+`<rs:md capability="changelist" from="2025-01-01T00:00:00Z"/>
<sitemap><loc>{base}/changes-1.xml</loc><rs:md from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/></sitemap>
<sitemap><loc>{base}/changes-2.xml</loc><rs:md from="2025-02-02T00:00:00Z"/></sitemap>
</sitemapindex>`)
	s.add(changes1, urlset+up+`<rs:ln rel="index" href="{base}/changes.xml"/>
<rs:md capability="changelist" from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/>
<url><loc>{base}/a</loc><lastmod>2025-02-01T00:00:00Z</lastmod>
<rs:md change="created" datetime="2025-02-01T00:00:00Z" hash="sha-256:{sha256 /a}" length="{length /a}" type="text/plain"/></url>
<url><loc>{base}/b</loc><lastmod>2025-02-02T00:00:00Z</lastmod><rs:md change="created" datetime="2025-02-02T00:00:00Z"/></url>
</urlset>`)
	s.add(changes2, urlset+up+`<rs:ln rel="index" href="{base}/changes.xml"/>
<rs:md capability="changelist" from="2025-02-02T00:00:00Z"/>
<url><loc>{base}/c</loc><rs:md change="updated" datetime="2025-02-03T00:00:00Z"/></url>
<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-04T00:00:00Z"/></url>
</urlset>`)
	s.add(dump, urlset+up+`<rs:md capability="resourcedump" at="2025-01-31T00:00:00Z"/>
<url><loc>{base}/dump-1.zip</loc><lastmod>2025-03-01T00:00:00Z</lastmod>
<rs:md type="application/zip" length="{length /dump-1.zip}" hash="sha-256:{sha256 /dump-1.zip}"/>
<rs:ln rel="contents" href="{base}/dump-1.xml"/></url>
</urlset>`)
	manifest := urlset + up + `<rs:md capability="resourcedump-manifest" at="2025-01-31T00:00:00Z"/>
<url><loc>{base}/a</loc><rs:md path="/a" hash="sha-256:{sha256 /a}" length="{length /a}"/></url>
<url><loc>{base}/b</loc><rs:md path="/b" hash="sha-256:{sha256 /b}" length="{length /b}"/></url>
</urlset>`
	s.packs[dumpZIP] = []member{{"manifest.xml", manifest}, {"a", "Anna"}, {"b", "Berta"}}
	s.add("/dump-1.xml", manifest)
	s.add(chDump, urlset+up+`<rs:md capability="changedump" from="2025-01-01T00:00:00Z"/>
<url><loc>{base}/changedump-1.zip</loc><rs:md from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z" type="application/zip"/></url>
</urlset>`)
	s.packs[chDumpZIP] = []member{{"manifest.xml", urlset + up + `<rs:md capability="changedump-manifest" from="2025-01-01T00:00:00Z" until="2025-02-02T00:00:00Z"/>
<url><loc>{base}/a</loc><rs:md change="created" datetime="2025-02-01T00:00:00Z" path="/1/a" hash="sha-256:{sha256 /a}" length="{length /a}"/></url>
<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-02T00:00:00Z"/></url>
</urlset>`}, {"1/a", "Anna"}}
	s.add(topic, urlset+up+`<rs:md capability="change-notification" from="2025-02-03T00:00:00Z" until="2025-02-04T00:00:00Z"/>
<url><loc>{base}/d</loc><rs:md change="deleted" datetime="2025-02-04T00:00:00Z"/></url>
</urlset>`).header = http.Header{"Link": {`<{base}/topic>; rel="self", <{base}/hub>; rel="hub"`}}
	s.add(framework, "").header = http.Header{"Link": {`<{base}/framework>; rel="self"`, `<{base}/hub>; rel="hub"`}}
	s.files[hub] = &file{serve: func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.Method != http.MethodPost || r.PostFormValue("hub.callback") == "" {
			http.Error(w, "a subscription needs hub.callback", http.StatusBadRequest)
		}
	}}
	s.files["/socket"] = &file{serve: func(w http.ResponseWriter, r *http.Request, _ int) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			<-conn.CloseRead(r.Context()).Done()
		}
	}}
	for name, text := range map[string]string{"/a": "Anna", "/b": "Berta", "/c": "Claudia"} {
		s.files[name] = &file{body: text, kind: "text/plain", noGzip: true}
	}
	return s
}

// options are those of the checks of tests.
func options() *check.Options {
	return &check.Options{Pause: time.Millisecond, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// judge checks a site and returns the number of findings by rule.
func (s *site) judge(t testing.TB, o *check.Options) (*check.Report, map[string]int64) {
	t.Helper()
	if o == nil {
		o = options()
	}
	if s.callback != nil {
		o.Callback = s.callback
	}
	r, err := check.Check(t.Context(), s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.Counts
}

// describe returns findings as text.
func describe(r *check.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s %s:%d:%d: %s (%s)\n", f.Harm, f.Force, f.Rule, f.Document, f.Line, f.Column, f.Message, f.Section)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(&b, "unchecked: %s\n", u)
	}
	return b.String()
}

func rulesOf(counts map[string]int64) []string { return slices.Sorted(maps.Keys(counts)) }
