package sitemap_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

const (
	// generatorVariable makes the test binary a website with that number of pages.
	generatorVariable = "RESOURCESYNC_TEST_GENERATOR"

	// perSitemap is the number of URLs that the protocol allows in a sitemap.
	perSitemap = 50_000

	countPath = "/-/requests"
)

// children returns the number of sitemaps for n pages.
func children(n int) int { return (n + perSitemap - 1) / perSitemap }

func TestMain(m *testing.M) {
	text := os.Getenv(generatorVariable)
	if text == "" {
		os.Exit(testmain.Run(m))
	}
	n, err := strconv.Atoi(text)
	if err == nil {
		err = generate(n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

// generate serves a website of n pages until the standard input ends. It writes its
// address to the standard output.
func generate(n int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(ln, &generator{pages: n}) }()
	fmt.Println(ln.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A generator is a website whose pages and sitemaps are computed. Every other sitemap
// is compressed.
type generator struct {
	pages    int
	requests atomic.Int64
}

func (g *generator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == countPath {
		fmt.Fprint(w, g.requests.Swap(0))
		return
	}
	g.requests.Add(1)
	etag := `"` + strconv.Itoa(len(r.URL.Path)) + `"`
	w.Header().Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	var child int
	switch path := r.URL.Path; {
	case path == "/robots.txt":
		fmt.Fprintf(w, "Sitemap: %sindex.xml\n", base)
	case path == "/index.xml":
		g.index(w)
	case strings.HasPrefix(path, "/articles/"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><html><head><title>%s</title></head><body>%[1]s</body></html>", path)
	case scans(path, "/sitemap-%d.xml.gz", &child):
		zw := gzip.NewWriter(w)
		g.sitemap(zw, child)
		_ = zw.Close()
	case scans(path, "/sitemap-%d.xml", &child):
		g.sitemap(w, child)
	default:
		http.NotFound(w, r)
	}
}

func scans(text, format string, n *int) bool {
	_, err := fmt.Sscanf(text, format, n)
	return err == nil
}

func (g *generator) index(w io.Writer) {
	fmt.Fprint(w, `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range children(g.pages) {
		suffix := ""
		if i%2 == 1 {
			suffix = ".gz"
		}
		fmt.Fprintf(w, "\n<sitemap><loc>%ssitemap-%d.xml%s</loc></sitemap>", base, i, suffix)
	}
	fmt.Fprint(w, "\n</sitemapindex>\n")
}

// sitemap writes the child with this number.
func (g *generator) sitemap(w io.Writer, child int) {
	bw := bufio.NewWriter(w)
	fmt.Fprint(bw, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := child * perSitemap; i < min((child+1)*perSitemap, g.pages); i++ {
		fmt.Fprintf(bw, "\n<url><loc>%sarticles/%08d/a-title-of-some-length</loc><lastmod>%s</lastmod></url>",
			base, i, day.Add(time.Duration(i%1000)*time.Hour).Format(time.RFC3339))
	}
	fmt.Fprint(bw, "\n</urlset>\n")
	_ = bw.Flush()
}
