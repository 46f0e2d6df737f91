package rshttp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// papers is a set in memory that changed last at newYear.
func papers(t *testing.T, keys ...string) *memory.Set {
	t.Helper()
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { return now }})
	for _, k := range keys {
		now = now.Add(time.Second)
		if err := set.Put(t.Context(), resourcesync.Resource{Key: k, URI: "https://example.org/papers/" + k}); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

func TestDocuments(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2}, DescribedBy: "https://example.org/about", Sitemaps: rshttp.PlainSitemaps},
		rshttp.Set{Name: "papers", Provider: papers(t, "a", "b", "c"), DescribedBy: "https://example.org/papers/"},
		rshttp.Set{Name: "empty", Provider: tableOf(0)})
	for _, tt := range []struct{ path, want string }{
		{"/.well-known/resourcesync", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="describedby" href="https://example.org/about"/>
<rs:md capability="description"/>
<url>
<loc>https://example.org/resourcesync/papers/capabilitylist.xml</loc>
<rs:md capability="capabilitylist"/>
<rs:ln rel="describedby" href="https://example.org/papers/"/>
</url>
<url>
<loc>https://example.org/resourcesync/empty/capabilitylist.xml</loc>
<rs:md capability="capabilitylist"/>
</url>
</urlset>
`},
		{"/resourcesync/papers/capabilitylist.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="describedby" href="https://example.org/papers/"/>
<rs:ln rel="up" href="https://example.org/.well-known/resourcesync"/>
<rs:md capability="capabilitylist"/>
<url>
<loc>https://example.org/resourcesync/papers/resourcelist.xml</loc>
<rs:md capability="resourcelist"/>
</url>
<url>
<loc>https://example.org/resourcesync/papers/changelist.xml</loc>
<rs:md capability="changelist"/>
</url>
</urlset>
`},
		{"/resourcesync/empty/resourcelist.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/empty/capabilitylist.xml"/>
<rs:md capability="resourcelist" at="1970-01-01T00:00:00Z"/>
</urlset>
`},
		{"/resourcesync/papers/resourcelist.xml", `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/papers/capabilitylist.xml"/>
<rs:md capability="resourcelist" at="2026-01-01T00:00:03Z"/>
<sitemap>
<loc>https://example.org/resourcesync/papers/resourcelist/~Yw.xml</loc>
<lastmod>2026-01-01T00:00:02Z</lastmod>
</sitemap>
<sitemap>
<loc>https://example.org/resourcesync/papers/resourcelist/Yw~.xml</loc>
<lastmod>2026-01-01T00:00:03Z</lastmod>
</sitemap>
</sitemapindex>
`},
		{"/resourcesync/papers/resourcelist/~Yw.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/papers/capabilitylist.xml"/>
<rs:ln rel="index" href="https://example.org/resourcesync/papers/resourcelist.xml"/>
<rs:md capability="resourcelist" at="2026-01-01T00:00:02Z"/>
<url>
<loc>https://example.org/papers/a</loc>
</url>
<url>
<loc>https://example.org/papers/b</loc>
</url>
</urlset>
`},
		{"/resourcesync/papers/changelist.xml", `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/papers/capabilitylist.xml"/>
<rs:ln rel="alternate" href="https://example.org/resourcesync/papers/changelist/recent.xml"/>
<rs:md capability="changelist" from="2026-01-01T00:00:00.000000Z"/>
<sitemap>
<loc>https://example.org/resourcesync/papers/changelist/20260101T000000.000000000Z.xml</loc>
<rs:md from="2026-01-01T00:00:00.000000Z" until="2026-01-01T00:00:02.000000Z"/>
</sitemap>
<sitemap>
<loc>https://example.org/resourcesync/papers/changelist/20260101T000002.000000000Z.xml</loc>
<rs:md from="2026-01-01T00:00:02.000000Z"/>
</sitemap>
</sitemapindex>
`},
		{"/resourcesync/papers/changelist/20260101T000000.000000000Z.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/papers/capabilitylist.xml"/>
<rs:ln rel="index" href="https://example.org/resourcesync/papers/changelist.xml"/>
<rs:md capability="changelist" from="2026-01-01T00:00:00.000000Z" until="2026-01-01T00:00:02.000000Z"/>
<url>
<loc>https://example.org/papers/a</loc>
<lastmod>2026-01-01T00:00:01Z</lastmod>
<rs:md change="created" datetime="2026-01-01T00:00:01.000000Z"/>
</url>
<url>
<loc>https://example.org/papers/b</loc>
<lastmod>2026-01-01T00:00:02Z</lastmod>
<rs:md change="created" datetime="2026-01-01T00:00:02.000000Z"/>
</url>
</urlset>
`},
		{"/resourcesync/papers/sitemap.xml", `<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap>
<loc>https://example.org/resourcesync/papers/sitemap/~Yw.xml</loc>
<lastmod>2026-01-01T00:00:02Z</lastmod>
</sitemap>
<sitemap>
<loc>https://example.org/resourcesync/papers/sitemap/Yw~.xml</loc>
<lastmod>2026-01-01T00:00:03Z</lastmod>
</sitemap>
</sitemapindex>
`},
		{"/resourcesync/papers/sitemap/Yw~.xml", `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url>
<loc>https://example.org/papers/c</loc>
</url>
</urlset>
`},
	} {
		t.Run(tt.path, func(t *testing.T) {
			res := get(t, src, tt.path)
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/xml" {
				t.Errorf("%s, Content-Type %q", res.Status, res.Header.Get("Content-Type"))
			}
			if got := text(t, res); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestRequests is a table of requests and responses on the wire.
func TestRequests(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2}}, rshttp.Set{Provider: papers(t, "a", "b", "c")})
	const (
		list   = "/resourcesync/resourcelist/~Yw.xml"
		closed = "/resourcesync/changelist/20260101T000000.000000000Z.xml"
		ask    = "public, no-cache"
	)
	plain := get(t, src, list).Header.Get("ETag")
	zipped := get(t, src, list, "Accept-Encoding", "gzip").Header.Get("ETag")
	if plain == "" || zipped == "" || plain == zipped {
		t.Fatalf("entity tags %q and %q", plain, zipped)
	}
	const modified = "Thu, 01 Jan 2026 00:00:02 GMT"
	for _, tt := range []struct {
		name   string
		method string
		path   string
		header []string
		status int
		want   []string // header names and values; "" for absent
	}{
		{"plain", "GET", list, nil, 200, []string{"Content-Type", "application/xml", "Content-Encoding", "", "ETag", plain, "Last-Modified", modified, "Vary", "Accept-Encoding, Accept, Sec-Fetch-Dest", "Cache-Control", ask}},
		{"gzip", "GET", list, []string{"Accept-Encoding", "gzip, br"}, 200, []string{"Content-Type", "application/xml", "Content-Encoding", "gzip", "ETag", zipped, "Last-Modified", modified, "Vary", "Accept-Encoding, Accept, Sec-Fetch-Dest"}},
		{"gzip not wanted", "GET", list, []string{"Accept-Encoding", "gzip;q=0"}, 200, []string{"Content-Encoding", ""}},
		{"gzip wanted less", "GET", list, []string{"Accept-Encoding", "gzip;q=0.3, identity;q=0.5"}, 200, []string{"Content-Encoding", ""}},
		{"gzip wanted more", "GET", list, []string{"Accept-Encoding", "identity;q=0.5, GZIP;q=0.8"}, 200, []string{"Content-Encoding", "gzip"}},
		{"anything wanted", "GET", list, []string{"Accept-Encoding", "*"}, 200, []string{"Content-Encoding", "gzip"}},
		{"anything but gzip", "GET", list, []string{"Accept-Encoding", "*, gzip;q=0"}, 200, []string{"Content-Encoding", ""}},
		{"several headers", "GET", list, []string{"Accept-Encoding", "br", "Accept-Encoding", "gzip"}, 200, []string{"Content-Encoding", "gzip"}},
		{"broken quality", "GET", list, []string{"Accept-Encoding", "gzip;q=NaN"}, 200, []string{"Content-Encoding", ""}},
		{"head", "HEAD", list, nil, 200, []string{"Content-Type", "application/xml", "ETag", plain}},
		{"head gzip", "HEAD", list, []string{"Accept-Encoding", "gzip"}, 200, []string{"Content-Encoding", "gzip", "ETag", zipped}},
		{"not modified", "GET", list, []string{"If-None-Match", plain}, 304, []string{"ETag", plain, "Content-Type", "", "Content-Length", "", "Cache-Control", ask, "Vary", "Accept-Encoding, Accept, Sec-Fetch-Dest"}},
		{"not modified, weak and in a list", "GET", list, []string{"If-None-Match", `"x", W/` + plain}, 304, nil},
		{"not modified, any", "GET", list, []string{"If-None-Match", "*"}, 304, nil},
		{"not modified, head", "HEAD", list, []string{"If-None-Match", plain}, 304, nil},
		{"tag of another coding", "GET", list, []string{"If-None-Match", plain, "Accept-Encoding", "gzip"}, 200, []string{"ETag", zipped}},
		{"modified since", "GET", list, []string{"If-Modified-Since", "Thu, 01 Jan 2026 00:00:01 GMT"}, 200, nil},
		{"not modified since", "GET", list, []string{"If-Modified-Since", modified}, 304, nil},
		{"tag wins over date", "GET", list, []string{"If-None-Match", `"x"`, "If-Modified-Since", modified}, 200, nil},
		{"broken date", "GET", list, []string{"If-Modified-Since", "yesterday"}, 200, nil},
		{"closed for ever", "GET", closed, nil, 200, []string{"Cache-Control", "public, max-age=86400, immutable", "Last-Modified", modified}},
		{"post", "POST", list, nil, 405, []string{"Allow", "GET, HEAD"}},
		{"delete", "DELETE", "/.well-known/resourcesync", nil, 405, []string{"Allow", "GET, HEAD"}},
		{"no such document", "GET", "/resourcesync/other.xml", nil, 404, nil},
		{"no such page", "GET", "/resourcesync/resourcelist/Yw~Yg.xml", nil, 404, nil},
		{"page spelt otherwise", "GET", "/resourcesync/resourcelist/~0.Yw.xml", nil, 404, nil},
		{"no such window", "GET", "/resourcesync/changelist/20270101T000000.000000000Z.xml", nil, 404, nil},
		{"window no longer there", "GET", "/resourcesync/changelist/20250101T000000.000000000Z.xml", nil, 410, []string{"Link", `<https://example.org/resourcesync/changelist.xml>; rel="index"`}},
		{"no sitemap unless asked for", "GET", "/resourcesync/sitemap.xml", nil, 404, nil},
		{"no part of an undivided description", "GET", "/resourcesync/description/1.xml", nil, 404, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := do(t, src, tt.method, tt.path, tt.header...)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			for i := 0; i < len(tt.want); i += 2 {
				if got := res.Header.Get(tt.want[i]); got != tt.want[i+1] {
					t.Errorf("%s: %q, want %q", tt.want[i], got, tt.want[i+1])
				}
			}
			body := text(t, res)
			if (tt.method == "HEAD" || tt.status == 304) && body != "" {
				t.Errorf("a body of %d bytes", len(body))
			}
		})
	}
}

// TestCodingsAgree compares the responses to clients with and without gzip, for a small
// document and for one that is inflated while it is sent.
func TestCodingsAgree(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: tableOf(2000)})
	for _, path := range []string{"/resourcesync/capabilitylist.xml", "/resourcesync/resourcelist.xml"} {
		plain := get(t, src, path)
		identity := text(t, plain)
		zr, err := gzip.NewReader(get(t, src, path, "Accept-Encoding", "gzip").Body)
		if err != nil {
			t.Fatal(err)
		}
		inflated, err := io.ReadAll(zr)
		if err != nil || !bytes.Equal(inflated, []byte(identity)) {
			t.Errorf("%s: gzip and identity differ (%v)", path, err)
		}
		if int64(len(identity)) != plain.ContentLength || !strings.HasSuffix(identity, "</urlset>\n") {
			t.Errorf("%s: %d bytes announced, %d sent", path, plain.ContentLength, len(identity))
		}
	}
}

// TestLastModifiedWaits: while another change may still fall into the second of the
// newest one, the date cannot distinguish them, so there is no Last-Modified.
func TestLastModifiedWaits(t *testing.T) {
	set := memory.New(nil)
	if err := set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: "https://example.org/a"}); err != nil {
		t.Fatal(err)
	}
	src := newSource(t, nil, rshttp.Set{Provider: set})
	res := get(t, src, "/resourcesync/resourcelist.xml", "If-Modified-Since", time.Now().UTC().Format(http.TimeFormat))
	if got := res.Header.Get("Last-Modified"); got != "" || res.StatusCode != 200 {
		t.Errorf("%s, Last-Modified %q", res.Status, got)
	}
}

// TestAnyRange: a range that is not a page of the index is served but not cached.
func TestAnyRange(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2}}, rshttp.Set{Provider: papers(t, "a", "b", "c")})
	if _, pages := listed(t, src, "/resourcesync/resourcelist.xml"); pages != 2 {
		t.Fatalf("%d pages", pages)
	}
	kept, rendered := src.Counters().CacheBytes, src.Counters().Rendered
	for range 2 {
		if res := get(t, src, "/resourcesync/resourcelist/YQ~Yg.xml"); res.StatusCode != 200 {
			t.Error(res.Status)
		}
	}
	if c := src.Counters(); c.CacheBytes != kept || c.Rendered != rendered+2 {
		t.Errorf("%d bytes kept, %d before; %d renderings", c.CacheBytes, kept, c.Rendered-rendered)
	}
}
