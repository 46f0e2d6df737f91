package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A breakable website has public pages and a private one, all in its sitemap. While it
// is broken, it answers differently.
type breakable struct {
	mu       sync.Mutex
	broken   http.HandlerFunc
	repaired chan struct{} // closed when it is no longer broken
	scans    atomic.Int64  // since it is broken
	visits   atomic.Int64
}

var publicPages = []string{"/", "/a", "/b", "/c", "/d", "/e"}

func (b *breakable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	broken := b.broken
	b.mu.Unlock()
	if broken != nil {
		switch {
		case slices.Contains(publicPages, r.URL.Path):
			b.visits.Add(1)
		case r.URL.Path == "/robots.txt": // each scan begins with it
			b.scans.Add(1)
		}
	}
	switch {
	case r.URL.Path == "/secret":
		w.WriteHeader(http.StatusUnauthorized)
	case broken != nil:
		broken(w, r)
	case r.URL.Path == "/sitemap.xml":
		fmt.Fprint(w, "<urlset>")
		for _, page := range append([]string{"/secret"}, publicPages...) {
			fmt.Fprintf(w, "<url><loc>http://www.example.org%s</loc></url>", page)
		}
		fmt.Fprint(w, "</urlset>")
	case slices.Contains(publicPages, r.URL.Path):
		fmt.Fprintf(w, "<html><head></head>page %s", r.URL.Path)
	default:
		http.NotFound(w, r)
	}
}

// breakIt makes the website answer with broken until it is repaired.
func (b *breakable) breakIt(broken func(w http.ResponseWriter, r *http.Request, repaired <-chan struct{})) {
	b.mu.Lock()
	defer b.mu.Unlock()
	repaired := make(chan struct{})
	b.repaired = repaired
	b.broken = func(w http.ResponseWriter, r *http.Request) { broken(w, r, repaired) }
}

func (b *breakable) repair() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		b.broken = nil
		close(b.repaired)
	}
}

// bomb returns 50 MB, compressed.
func bomb(t *testing.T) []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := io.WriteString(zw, "<urlset><!--")
	must(t, err)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 50 {
		_, err := zw.Write(spaces)
		must(t, err)
	}
	must(t, zw.Close())
	return b.Bytes()
}

// TestProxyBrokenSites: with a broken website, the proxy continues, does not report
// pages as deleted that it merely could not read, and never lists a private page. Pages
// that have become private leave the list; their deletions are held. When the website
// is repaired, everything is listed again. Everyday runs have the first five sites.
func TestProxyBrokenSites(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	respond := func(status int, location string) func(http.ResponseWriter, *http.Request, <-chan struct{}) {
		return func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(status)
		}
	}
	text := func(text string) func(http.ResponseWriter, *http.Request, <-chan struct{}) {
		return func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.ReplaceAll(text, "QUERY", r.URL.RawQuery))
		}
	}
	zipped := bomb(t)
	sites := []struct {
		name    string
		broken  func(w http.ResponseWriter, r *http.Request, repaired <-chan struct{})
		private bool // the pages have become so
		hangs   bool // no second scan begins
	}{
		{name: "hangs", hangs: true, broken: func(w http.ResponseWriter, r *http.Request, repaired <-chan struct{}) {
			select {
			case <-repaired:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}},
		{name: "gzip bomb", broken: func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			_, _ = w.Write(zipped)
		}},
		{name: "200 for everything", broken: text("<html><head></head><body>Welcome")},
		{name: "maintenance", broken: respond(503, "")},
		{name: "everything is secret", broken: respond(401, ""), private: true},
		{name: "wrong Content-Length", broken: func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Length", "99999")
			fmt.Fprint(w, "<urlset>")
		}},
		{name: "endless body", hangs: true, broken: func(w http.ResponseWriter, r *http.Request, repaired <-chan struct{}) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, "<urlset>")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-repaired:
					panic(http.ErrAbortHandler)
				case <-time.After(10 * time.Millisecond):
				}
			}
		}},
		{name: "hangs up", broken: func(http.ResponseWriter, *http.Request, <-chan struct{}) { panic(http.ErrAbortHandler) }},
		{name: "sitemap loop", broken: text(`<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>`)},
		{name: "endless sitemaps", broken: text(`<sitemapindex><sitemap><loc>/sitemap.xml?QUERYx</loc></sitemap></sitemapindex>`)},
		{name: "empty sitemap", broken: text("<urlset/>")},
		{name: "errors", broken: respond(500, "")},
		{name: "busy", broken: respond(429, "")},
		{name: "everything is gone", broken: respond(404, ""), private: true},
		{name: "logins", broken: respond(302, "/login"), private: true},
	}
	for _, tt := range sites[:needs.Size(5, len(sites))] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := &breakable{}
			server := httptest.NewServer(site)
			t.Cleanup(server.Close)
			t.Cleanup(site.repair) // before that
			p := startProxy(t, server.URL, "http://www.example.org/", "--rescan", "1s", "--revisit", "100", "--rate", "1000")
			p.stdout.await("Ready")
			isListed := func() bool { return slices.Equal(p.listed(), publicPages) }
			p.within("all is listed", isListed)

			site.breakIt(tt.broken)
			p.within("scans and visits", func() bool {
				return site.visits.Load() > 0 && (tt.hangs && site.scans.Load() > 0 || site.scans.Load() > 1)
			})
			if tt.private {
				p.within("nothing is listed", func() bool { return len(p.listed()) == 0 })
			} else if !isListed() {
				t.Errorf("listed %q", p.listed())
			}
			deleted := 0
			for _, change := range p.changes() {
				if strings.HasPrefix(change, "deleted") {
					deleted++
				}
				if strings.HasSuffix(change, "/secret") {
					t.Errorf("%q", change)
				}
			}
			if deleted > 2 || deleted > 0 && !tt.private {
				t.Errorf("changes %q", p.changes())
			}

			site.repair()
			p.within("all is listed again", isListed)
		})
	}
}

// TestProxyConfirmDeletions: confirm-deletions with the arguments of a running proxy
// makes it publish the deletions of pages that have become private.
func TestProxyConfirmDeletions(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for _, state := range []string{filepath.Join(t.TempDir(), "site.db"), ""}[:needs.Size(1, 2)] {
		site := &breakable{}
		server := httptest.NewServer(site)
		t.Cleanup(server.Close)
		t.Cleanup(site.repair)
		flags := []string{"--rescan", "1s", "--revisit", "100", "--rate", "1000", "--state", state}
		p := startProxy(t, server.URL, "http://www.example.org/", flags...)
		p.stdout.await("Ready")
		p.within("all is listed", func() bool { return slices.Equal(p.listed(), publicPages) })
		site.breakIt(func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			switch r.URL.Path {
			case "/robots.txt":
				w.WriteHeader(http.StatusNotFound)
			case "/sitemap.xml":
				fmt.Fprint(w, "<urlset/>")
			default:
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
		p.stderr.await("deletions are held")
		args := append([]string{"confirm-deletions", "--upstream", server.URL}, flags...)
		if state == "" { // the default is that of a base URL
			args = append(args, "--base-url", "http://www.example.org/")
		}
		confirmed := false
		p.within("all are reported as deleted", func() bool {
			// It confirms the deletions that are held now. A later scan holds those of pages that
			// are visited later.
			var stdout, stderr strings.Builder
			if status := run(t.Context(), args, &stdout, &stderr); status != 0 {
				t.Fatalf("status %d: %s%s", status, &stdout, &stderr)
			}
			confirmed = confirmed || strings.HasPrefix(stdout.String(), "Confirmed")
			deleted := 0
			for _, change := range p.changes() {
				if strings.HasPrefix(change, "deleted") {
					deleted++
				}
			}
			return deleted == len(publicPages)
		})
		if !confirmed {
			t.Error("no deletions were held when they were confirmed")
		}
		p.stop()
	}
	var stderr strings.Builder
	for _, args := range [][]string{{"--upstream=http://a"}, {"--upstream", "http://a", "--state", filepath.Join(t.TempDir(), "none.db")}} {
		if status := run(t.Context(), append([]string{"confirm-deletions"}, args...), io.Discard, &stderr); status != 2 {
			t.Errorf("%q: status %d, %s", args, status, &stderr)
		}
	}
}
