package check_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
)

// generated serves Resource Lists and Change Lists with any number of resources, which are
// written while they are read.
type generated struct{ resources, part int }

// ServeHTTP implements [http.Handler].
func (g generated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("ETag", `"`+r.URL.Path+`"`)
	if r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	up := strings.ReplaceAll(up, "{base}", base)
	kind, number, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	part, _ := strconv.Atoi(number)
	head := map[string]string{"list": `capability="resourcelist" at="2025-03-01T00:00:00Z"`, "changes": `capability="changelist" from="2025-01-01T00:00:00Z"`}[kind]
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known"):
		fmt.Fprint(w, urlset, `<rs:md capability="description"/><url><loc>`, base, `/caps.xml</loc></url></urlset>`)
	case kind == "caps.xml":
		fmt.Fprint(w, urlset, `<rs:ln rel="up" href="`, base, `/.well-known/resourcesync"/><rs:md capability="capabilitylist"/>`,
			`<url><loc>`, base, `/list</loc><rs:md capability="resourcelist"/></url><url><loc>`, base, `/changes</loc><rs:md capability="changelist"/></url></urlset>`)
	case head == "":
		http.NotFound(w, r)
	case number == "":
		fmt.Fprint(w, index, up, "<rs:md ", head, "/>")
		for i := range g.resources / g.part {
			fmt.Fprint(w, `<sitemap><loc>`, base, `/`, kind, `/`, i, `</loc><lastmod>2025-03-01T00:00:00Z</lastmod></sitemap>`)
		}
		fmt.Fprint(w, "</sitemapindex>")
	default:
		fmt.Fprint(w, urlset, up, `<rs:ln rel="index" href="`, base, `/`, kind, `"/><rs:md `, head, "/>\n")
		for i := part * g.part; i < (part+1)*g.part; i++ {
			fmt.Fprint(w, `<url><loc>`, base, `/papers/`, i, `.pdf</loc><lastmod>2025-02-01T00:00:00Z</lastmod><rs:md `)
			if kind == "changes" {
				fmt.Fprint(w, `change="created" datetime="2025-02-01T00:00:00Z" `)
			}
			fmt.Fprint(w, `hash="md5:9b16ee889992674fb7e9d32aee640b68" length="20721" type="text/html"/></url>`, "\n")
		}
		fmt.Fprint(w, "</urlset>")
	}
}

// BenchmarkCheck reads a Source with RESOURCESYNC_BENCH_URLS resources (10,000), and the same
// number of changes. It reports entries per second and the largest heap.
func BenchmarkCheck(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("RESOURCESYNC_BENCH_URLS"))
	n = max(n, 10_000)
	s := newSite(b)
	s.Config.Handler = generated{n, min(n, 50_000)}
	var peak atomic.Uint64
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
		}
	}()
	o := options()
	o.Sample = -1
	for b.Loop() {
		r, err := check.Check(b.Context(), s.URL, o)
		if err != nil || !r.OK() || r.Entries < 2*int64(n) {
			b.Fatalf("%v\n%s", err, describe(r))
		}
	}
	b.ReportMetric(2*float64(n)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(peak.Load())/1e6, "heap-MB")
}
