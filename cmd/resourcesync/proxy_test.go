package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A proxied website is one behind a proxy that run starts. Requests for its public URL
// go to the listener.
type proxied struct {
	t              testing.TB
	base           string // public URL
	client         *http.Client
	address        string
	stdout, stderr *output
	stop           func()
}

// startProxy starts a proxy for upstream and waits until the listener is open.
func startProxy(t testing.TB, upstream, base string, flags ...string) *proxied {
	t.Helper()
	p := &proxied{t: t, base: base, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	args := append([]string{"proxy", "--upstream", upstream, "--base-url", base, "--listen", "127.0.0.1:0"}, flags...)
	if !slices.Contains(flags, "--state") {
		args = append(args, "--state", filepath.Join(t.TempDir(), "state.db"))
	}
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, p.stdout, p.stderr) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, p.stderr)
		}
	})
	t.Cleanup(p.stop)
	p.address = p.stderr.await(`msg=listening address=([0-9.:]+)`)[1]
	p.client = &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.address)
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// do sends a request to the website.
func (p *proxied) do(method, path, body string, header ...string) (*http.Response, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, strings.TrimSuffix(p.base, "/")+path, strings.NewReader(body))
	must(p.t, err)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := p.client.Do(r)
	must(p.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(p.t, err)
	return res, string(b)
}

// entries returns the entries of a document, or nil if it is not available yet.
func (p *proxied) entries(path string) []entry {
	p.t.Helper()
	res, body := p.do("GET", path, "")
	if res.StatusCode != 200 {
		return nil
	}
	var d document
	must(p.t, xml.Unmarshal([]byte(body), &d))
	return d.Entries
}

// listed returns the paths in the Resource List.
func (p *proxied) listed() (paths []string) {
	for _, e := range p.entries("/resourcesync/resourcelist.xml") {
		paths = append(paths, "/"+strings.TrimPrefix(e.Loc, p.base))
	}
	return paths
}

// changes returns the Change List in the form "created /a".
func (p *proxied) changes() (changes []string) {
	for _, e := range p.entries("/resourcesync/changelist.xml") {
		changes = append(changes, e.Metadata.Change+" /"+strings.TrimPrefix(e.Loc, p.base))
	}
	return changes
}

// within waits until isSo returns true, and returns how long that took.
func (p *proxied) within(what string, isSo func() bool) time.Duration {
	p.t.Helper()
	began := time.Now()
	for !isSo() {
		if time.Since(began) > needs.Patience {
			p.t.Fatalf("never: %s\nlisted %q\nchanges %q\n%s", what, p.listed(), p.changes(), p.stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// TestProxy: a website behind the proxy is a Source, and requests that are not for the
// Source go to the website.
func TestProxy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	pages := map[string]string{"/": "<html><head></head>front", "/a": "<html><head></head>a", "/private/x": "x"}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch path := r.URL.Path; {
		case r.Host != "www.example.org":
			http.Redirect(w, r, "https://www.example.org"+path, http.StatusMovedPermanently)
		case path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /admin\n")
		case path == "/sitemap.xml":
			fmt.Fprint(w, `<urlset>`)
			for page := range pages {
				fmt.Fprintf(w, "<url><loc>https://www.example.org%s</loc></url>", page)
			}
			fmt.Fprint(w, `<url><loc>https://www.example.org/resourcesync/x</loc></url></urlset>`)
		case r.Method == "PUT":
			b, _ := io.ReadAll(r.Body)
			pages[path] = string(b)
		case r.Method == "DELETE":
			delete(pages, path)
		case pages[path] == "":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, pages[path])
		}
	}))
	defer site.Close()
	p := startProxy(t, site.URL, "https://www.example.org/", "--html-link", "--sitemap", "--exclude", "/private/*", "--ping-token", "secret", "--dumps", "--max-delete", "100%")
	// The test speaks http to the listener: TLS ends in front of it.
	p.base = "http://www.example.org/"
	p.stdout.await("Ready")
	listed := func() []string {
		var paths []string
		for _, e := range p.entries("/resourcesync/resourcelist.xml") {
			paths = append(paths, strings.TrimPrefix(e.Loc, "https://www.example.org"))
		}
		return paths
	}
	if got := listed(); !slices.Equal(got, []string{"/", "/a"}) {
		t.Fatalf("listed %q", got)
	}
	res, body := p.do("GET", "/a", "")
	if res.Header.Get("Link") != `<https://www.example.org/resourcesync/capabilitylist.xml>; rel="resourcesync"` ||
		body != `<html><head><link rel="resourcesync" href="https://www.example.org/resourcesync/capabilitylist.xml"/></head>a` {
		t.Errorf("%v %s", res.Header, body)
	}
	if res, body := p.do("GET", "/private/x", ""); body != "x" || res.Header.Get("Link") != "" {
		t.Errorf("%v %s", res.Header, body)
	}
	if _, body := p.do("GET", "/robots.txt", ""); body != "User-agent: *\nDisallow: /admin\nSitemap: https://www.example.org/resourcesync/sitemap.xml\n" {
		t.Error(body)
	}
	for _, path := range []string{"/resourcesync/healthz", "/resourcesync/readyz", "/.well-known/resourcesync", "/resourcesync/resourcedump.xml"} {
		if res, body := p.do("GET", path, ""); res.StatusCode != 200 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}

	p.do("PUT", "/b", "<html><head></head>b")
	took := p.within("/b is listed", func() bool { return slices.Contains(listed(), "/b") })
	t.Logf("created after %v", took)
	p.do("PUT", "/b", "<html><head></head>other")
	p.within("/b is updated", func() bool {
		return slices.ContainsFunc(p.entries("/resourcesync/changelist.xml"), func(e entry) bool {
			return e.Metadata.Change == "updated" && strings.HasSuffix(e.Loc, "/b")
		})
	})
	p.do("DELETE", "/b", "")
	p.within("/b is gone", func() bool { return !slices.Contains(listed(), "/b") })

	mu.Lock()
	pages["/c"] = "<html>behind the proxy's back"
	mu.Unlock()
	if res, _ := p.do("POST", "/resourcesync/ping", ""); res.StatusCode != 401 {
		t.Errorf("a ping without the token: %s", res.Status)
	}
	if res, _ := p.do("POST", "/resourcesync/ping", "url=https://www.example.org/c", "Authorization: Bearer secret"); res.StatusCode != 202 {
		t.Errorf("a ping: %s", res.Status)
	}
	p.within("/c is listed", func() bool { return slices.Contains(listed(), "/c") })
}

func TestProxyFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "no --upstream given"},
		{"--upstream 127.0.0.1:80", "--upstream"},
		{"--upstream http://a/b", "path"},
		{"--upstream http://a b", `unexpected argument "b"`},
		{"--upstream http://a --verify some", "--verify"},
		{"--upstream http://a --rate -1", "--rate"},
		{"--upstream http://a --revisit -1", "--revisit"},
		{"--upstream http://a --tls-cert x", "--tls-key"},
		{"--upstream http://a --tls-cert x --tls-key y", "--tls-cert"},
		{"--upstream http://a --beside --html-link", "--beside"},
		{"--upstream http://a --exclude x", "exclude"},
		{"--upstream http://a --trust-proxy x", "trust-proxy"},
		{"--upstream http://a --hash md5", "-hash"},
		{"--upstream http://a --recent http://other/", "Recent"},
	} {
		stderr := newOutput(t)
		args := append([]string{"proxy", "--listen", "127.0.0.1:0", "--state", filepath.Join(t.TempDir(), "s.db")}, strings.Fields(tt.args)...)
		if status := run(t.Context(), args, io.Discard, stderr); status != 2 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: status %d, %s", tt.args, status, stderr)
		}
	}
}

// TestD24_StateOfAnotherWebsite: a state is refused for another website, unless the
// website has moved.
func TestD24_StateOfAnotherWebsite(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sitemap.xml" {
			fmt.Fprintf(w, `<urlset><url><loc>http://%s/a</loc></url></urlset>`, r.Host)
		} else if r.URL.Path != "/robots.txt" {
			fmt.Fprint(w, "page")
		}
	}))
	defer site.Close()
	state := filepath.Join(t.TempDir(), "state.db")
	p := startProxy(t, site.URL, "http://one.example/", "--rate", "1000", "--state", state)
	p.stdout.await("Ready")
	p.stop()
	stderr := newOutput(t)
	args := []string{"proxy", "--upstream", site.URL, "--base-url", "http://two.example/", "--listen", "127.0.0.1:0", "--state", state}
	if status := run(t.Context(), args, io.Discard, stderr); status != 2 || !strings.Contains(stderr.String(), "--moved") {
		t.Errorf("status %d: %s", status, stderr)
	}
	p = startProxy(t, site.URL, "http://two.example/", "--rate", "1000", "--state", state, "--moved", "--max-delete", "100%")
	p.stdout.await("Ready") // with what is stored, until the first scan is complete
	p.within("the page is listed at its new URL", func() bool { return slices.Equal(p.listed(), []string{"/a"}) })
}
