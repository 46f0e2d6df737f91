package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// nginxHost is the host of the website that nginx serves.
const nginxHost = "static.example"

// A staticSite is a generated website in a folder.
type staticSite struct {
	t      *testing.T
	folder string
	pages  map[string]time.Time // paths and their lastmod
}

// newStaticSite generates 100 pages, each with an image.
func newStaticSite(t *testing.T) *staticSite {
	t.Helper()
	s := &staticSite{t: t, folder: t.TempDir(), pages: map[string]time.Time{}}
	must(t, os.Chmod(s.folder, 0o755))
	must(t, os.Chmod(filepath.Dir(s.folder), 0o755))
	for i := range 100 {
		s.page(fmt.Sprintf("/page-%02d.html", i), "first")
		write(t, filepath.Join(s.folder, fmt.Sprintf("image-%02d.png", i)), "\x89PNG\r\n\x1a\n"+strings.Repeat("pixel", i))
	}
	write(t, filepath.Join(s.folder, "robots.txt"), "User-agent: *\nSitemap: http://"+nginxHost+"/sitemap.xml\n")
	s.publish()
	return s
}

// page writes a page and sets its time.
func (s *staticSite) page(path, text string) {
	s.t.Helper()
	name := strings.TrimSuffix(strings.TrimPrefix(path, "/page-"), ".html")
	file := filepath.Join(s.folder, filepath.FromSlash(path))
	write(s.t, file, "<!DOCTYPE html><html><head><title>"+name+`</title></head><body><img src="image-`+name+`.png"> `+text+"</body></html>")
	// lastmod counts in seconds, and the scanner distrusts the current one.
	at := time.Now().Add(time.Duration(len(text))*time.Second - time.Hour).Truncate(time.Second)
	must(s.t, os.Chtimes(file, at, at))
	s.pages[path] = at
}

// publish writes the sitemap.
func (s *staticSite) publish() {
	s.t.Helper()
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for path, at := range s.pages {
		fmt.Fprintf(&b, "<url><loc>http://%s%s</loc><lastmod>%s</lastmod></url>\n", nginxHost, path, at.UTC().Format(time.RFC3339))
	}
	b.WriteString(`</urlset>`)
	elsewhere := filepath.Join(s.t.TempDir(), "sitemap.xml")
	write(s.t, elsewhere, b.String())
	must(s.t, os.Rename(elsewhere, filepath.Join(s.folder, "sitemap.xml")))
}

// startNginx runs nginx with these directives in its server and returns its address.
// Tests that need it are skipped where it is not installed, except in CI.
func startNginx(t *testing.T, listen, server string) string {
	t.Helper()
	return startNginxWith(t, listen, "", server)
}

// startNginxWith is startNginx with further directives beside the server.
func startNginxWith(t *testing.T, listen, beside, server string) string {
	t.Helper()
	listen = cmp.Or(listen, needs.Address(t))
	cmd := nginxCommand(t, listen, beside, server)()
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", listen); err == nil {
			conn.Close()
			return listen
		}
	}
	t.Fatalf("nginx does not listen:\n%s", read(t, filepath.Join(cmd.Dir, "error.log")))
	return ""
}

// nginxCommand configures nginx, and returns a function that returns a command to start it. Its log is
// error.log in the folder of the command.
func nginxCommand(t *testing.T, listen, beside, server string) func() *exec.Cmd {
	t.Helper()
	program := needs.Program(t, "nginx")
	folder := t.TempDir()
	config := filepath.Join(folder, "nginx.conf")
	user := "" // the workers of a nginx that root starts are nobody's
	if os.Getuid() == 0 {
		user = "user root;"
	}
	must(t, os.WriteFile(config, fmt.Appendf(nil, `daemon off; %[4]s worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
	types { text/html html; image/png png; text/plain txt; text/xml xml; }
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
%[6]s
	server { listen %[2]s; server_name %[5]s;
%[3]s
	}
}`, folder, listen, server, user, nginxHost, beside), 0o600))
	return func() *exec.Cmd {
		cmd := exec.Command(program, "-c", config, "-p", folder, "-e", filepath.Join(folder, "error.log"))
		cmd.Dir = folder
		return cmd
	}
}

// TestNginxBehind: a static website that nginx serves behind the proxy is a Source.
func TestNginxBehind(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	site := newStaticSite(t)
	upstream := startNginx(t, "", "root "+site.folder+"; location ~ ^/page-0[34].html$ { if (-f "+site.folder+"/closed) { return 403; } }")
	p := startProxy(t, "http://"+upstream, "http://"+nginxHost+"/", "--rescan", "1s", "--revisit", "100", "--max-delete", "100%")
	p.stdout.await("Ready")
	if got := p.listed(); len(got) != 100 || got[0] != "/page-00.html" {
		t.Fatalf("%d pages are listed: %q", len(got), got)
	}
	testStaticTraffic(t, p)

	site.page("/page-01.html", "changed")
	delete(site.pages, "/page-02.html")
	// Two pages become private. The sitemap has a new date for one of them; a visit
	// finds the other.
	write(t, filepath.Join(site.folder, "closed"), "")
	site.page("/page-03.html", "closed")
	site.publish()
	want := []string{"deleted /page-02.html", "deleted /page-03.html", "deleted /page-04.html", "updated /page-01.html"}
	took := p.within("the changes show", func() bool {
		changes := p.changes()
		slices.Sort(changes)
		return slices.Equal(changes, want)
	})
	t.Log("updated, deleted and closed after", took)
	if got := p.listed(); len(got) != 97 || slices.Contains(got, "/page-02.html") || slices.Contains(got, "/page-03.html") || slices.Contains(got, "/page-04.html") {
		t.Errorf("%d pages are listed: %q", len(got), got)
	}

	// Pages that become public again are listed again.
	must(t, os.Remove(filepath.Join(site.folder, "closed")))
	p.within("the pages are listed again", func() bool { return len(p.listed()) == 99 })
}

// testStaticTraffic: ranges, conditional requests and requests for unlisted files pass
// through.
func testStaticTraffic(t *testing.T, p *proxied) {
	t.Helper()
	res, whole := p.do("GET", "/page-00.html", "")
	etag := res.Header.Get("Etag")
	if res.StatusCode != 200 || etag == "" || !strings.HasPrefix(res.Header.Get("Link"), "<http://"+nginxHost+"/resourcesync/capabilitylist.xml>") || !strings.HasPrefix(res.Header.Get("Server"), "nginx") {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	for _, tt := range []struct {
		header, body string
		status       int
	}{
		{"If-None-Match: " + etag, "", 304},
		{"If-None-Match: \"other\"", whole, 200},
		{"If-Modified-Since: " + res.Header.Get("Last-Modified"), "", 304},
		{"Range: bytes=2-8", whole[2:9], 206},
		{"Range: bytes=-7", "</html>", 206},
		{"Range: bytes=100000-", "", 416},
	} {
		if res, body := p.do("GET", "/page-00.html", "", tt.header); res.StatusCode != tt.status || tt.status != 416 && body != tt.body {
			t.Errorf("%s: %s %q", tt.header, res.Status, body)
		}
	}
	if res, body := p.do("GET", "/image-09.png", ""); res.StatusCode != 200 || len(body) != 8+9*5 || res.Header.Get("Link") != "" {
		t.Errorf("image: %s, %d bytes, %v", res.Status, len(body), res.Header)
	}
	if res, _ := p.do("GET", "/nothing", ""); res.StatusCode != 404 {
		t.Errorf("nothing: %s", res.Status)
	}
}

// snippet returns the first block of code in a language below a heading of a document, so
// that tests use exactly what the reader copies.
func snippet(t *testing.T, document, heading, language string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, "../../docs/"+document), "\n"+heading+"\n")
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text)
	if !ok || found == nil {
		t.Fatalf("docs/%s has no block of %s below %q", document, language, heading)
	}
	return found[1]
}

// TestNginxBeside: nginx stays in front, with the snippet of the documentation.
func TestNginxBeside(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	front, beside := needs.Address(t), needs.Address(t)
	config := snippet(t, "sidecar.md", "#### nginx, beside", "nginx")
	for from, to := range map[string]string{"127.0.0.1:8080": beside, "https://www.example.org/": "http://" + nginxHost + "/", "/srv/www": site.folder} {
		if !strings.Contains(config, from) {
			t.Fatalf("the snippet has no %s:\n%s", from, config)
		}
		config = strings.ReplaceAll(config, from, to)
	}
	startNginx(t, front, config)
	p := startProxy(t, "http://"+front, "http://"+nginxHost+"/", "--listen", beside, "--beside", "--rescan", "1h", "--rate", "1000", "--revisit", "0", "--ping-token", "secret")
	p.stdout.await("Ready")

	// From here on, requests go to nginx.
	p.address = front
	for path, want := range map[string]string{
		"/.well-known/resourcesync":         "capability=\"description\"",
		"/resourcesync/capabilitylist.xml":  "http://" + nginxHost + "/websub/",
		"/resourcesync/resourcelist.xml":    "http://" + nginxHost + "/page-99.html",
		"/resourcesync/healthz":             "ok",
		"/websub/":                          "",
		"/page-42.html":                     "image-42.png",
		"/robots.txt":                       "User-agent",
		"/image-42.png":                     "pixel",
		"/resourcesync-is-no-document.html": "404 Not Found",
	} {
		res, body := p.do("GET", path, "")
		if !strings.Contains(body, want) || strings.HasPrefix(path, "/resourcesync/") && res.StatusCode != 200 {
			t.Errorf("%s: %s %.300s", path, res.Status, body)
		}
	}
	if got := p.listed(); len(got) != 100 {
		t.Errorf("%d pages are listed", len(got))
	}
	link := `<http://` + nginxHost + `/resourcesync/capabilitylist.xml>; rel="resourcesync"`
	for path, want := range map[string]string{"/page-42.html": link, "/image-42.png": link, "/resourcesync/resourcelist.xml": ""} {
		res, _ := p.do("GET", path, "")
		if got := strings.Join(res.Header["Link"], ", "); want != "" && got != want || want == "" && strings.Contains(got, "capabilitylist.xml>; rel=\"resourcesync\"") {
			t.Errorf("%s: Link: %s", path, got)
		}
	}
	// The hub answers through nginx.
	if res, body := p.do("POST", "/websub/", "hub.mode=nonsense", "Content-Type: application/x-www-form-urlencoded"); res.StatusCode != 400 {
		t.Errorf("the hub: %s %s", res.Status, body)
	}
	testPing(t, p, site)
}

// testPing: after a ping, the sitemaps are read at once, long before the next scan.
func testPing(t *testing.T, p *proxied, site *staticSite) {
	t.Helper()
	site.page("/page-07.html", "changed")
	site.page("/page-100.html", "new")
	site.publish()
	const form = "Content-Type: application/x-www-form-urlencoded"
	if res, _ := p.do("POST", "/resourcesync/ping", "", form, "Authorization: Bearer wrong"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a ping with a wrong token: %s", res.Status)
	}
	if res, body := p.do("POST", "/resourcesync/ping", "url=http://"+nginxHost+"/page-07.html", form, "Authorization: Bearer secret"); res.StatusCode != http.StatusAccepted {
		t.Fatalf("a ping: %s %s", res.Status, body)
	}
	took := p.within("a ping has changes found", func() bool {
		changes := p.changes()
		return slices.Contains(changes, "updated /page-07.html") && slices.Contains(changes, "created /page-100.html")
	})
	t.Log("after", took)
}

// TestNginxBeforeServe: nginx serves the files and passes requests for documents on, with
// the snippet of the documentation.
func TestNginxBeforeServe(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	front, behind := needs.Address(t), needs.Address(t)
	config := strings.ReplaceAll(snippet(t, "operations/web-server.md", "## Behind nginx", "nginx"), "127.0.0.1:8080", behind)
	startNginx(t, front, config+"location / { root "+site.folder+"; }")
	p := startProcess(t, site.folder, "--listen", behind, "--base-url", "http://"+front+"/", "--client-header", "X-Forwarded-For")
	p.stdout.await("Ready")
	for path, want := range map[string]string{
		"/.well-known/resourcesync":        "http://" + front + "/resourcesync/capabilitylist.xml",
		"/resourcesync/capabilitylist.xml": "http://" + front + "/websub/",
		"/resourcesync/resourcelist.xml":   "http://" + front + "/page-99.html",
		"/resourcesync/resourcedump.xml":   ".zip</loc>",
		"/resourcesync/healthz":            "ok",
		"/page-42.html":                    "image-42.png",
	} {
		res, err := http.Get("http://" + front + path)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %.300s, %v", path, res.Status, body, err)
		}
	}
}

// TestNginxBeforeRun: nginx passes on the paths of several sets, with the snippets of the
// documentation.
func TestNginxBeforeRun(t *testing.T) {
	t.Parallel()
	at, front, behind := t.TempDir(), needs.Address(t), needs.Address(t)
	_, rest, _ := strings.Cut(snippet(t, "operations/web-server.md", "## Behind nginx", "nginx"), "\n")
	startNginx(t, front, snippet(t, "operations/web-server.md", "### Several sets", "nginx")+strings.ReplaceAll(rest, "127.0.0.1:8080", behind)+"location / { return 403; }")
	text := "listen: " + behind + "\nbase-url: http://" + front + "/\nstate: " + filepath.Join(at, "state.db") + "\nsets:\n"
	for _, name := range []string{"papers", "theses"} {
		write(t, filepath.Join(at, name, "a.txt"), name)
		text += "- {name: " + name + ", kind: folder, folder: " + filepath.Join(at, name) + ", path: /" + name + "/}\n"
	}
	file := filepath.Join(at, "site.yaml")
	write(t, file, text)
	p := startRun(t, file)
	p.stdout.await("Ready")
	for path, want := range map[string]string{
		"/.well-known/resourcesync":             "/resourcesync/theses/capabilitylist.xml",
		"/resourcesync/papers/resourcelist.xml": "http://" + front + "/papers/a.txt",
		"/papers/a.txt":                         "papers",
		"/theses/a.txt":                         "theses",
	} {
		if res, body := get(t, "http://"+front+path); res.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %s %.300s", path, res.Status, body)
		}
	}
}

// TestNginxStranger has an nginx that refuses some pages to visitors from elsewhere, by the
// address that a header names. These pages are neither listed nor in packages, although nginx
// answers this computer.
func TestNginxStranger(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for _, header := range []string{"X-Forwarded-For", "X-Real-IP"} {
		t.Run(header, func(t *testing.T) {
			site := newStaticSite(t)
			upstream := startNginx(t, "", "root "+site.folder+"; set_real_ip_from 127.0.0.1; real_ip_header "+header+`;
				location ~ ^/page-0[0-4].html$ { allow 127.0.0.0/8; allow 10.0.0.0/8; deny all; }`)
			p := startProxy(t, "http://"+upstream, "http://"+nginxHost+"/", "--rescan", "1s", "--revisit", "100", "--dumps")
			p.stdout.await("Ready")
			if got := p.listed(); len(got) != 95 || slices.Contains(got, "/page-03.html") {
				t.Errorf("%d pages are listed: %q", len(got), got)
			}
			if got := p.listed(); slices.Contains(got, "/page-04.html") {
				t.Errorf("a private page is listed: %q", got)
			}
		})
	}
}

// TestNginxScanFrom has an nginx that permits only one address to read a page, by the address of the
// connection.
func TestNginxScanFrom(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	upstream := startNginx(t, "", "root "+site.folder+"; location = /page-03.html { allow 127.0.0.1; deny all; }")
	for from, want := range map[string]int{"127.0.0.1": 100, "127.0.0.9": 99} {
		p := startProxy(t, "http://"+upstream, "http://"+nginxHost+"/", "--rescan", "1h", "--revisit", "0", "--rate", "1000", "--scan-from", from)
		p.stdout.await("Ready")
		if got := p.listed(); len(got) != want {
			t.Errorf("from %s, %d pages are listed, want %d", from, len(got), want)
		}
		p.stop()
	}
}
