package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// wordpress names the WordPress that is tested, with the user and the password of its
// REST interface: its public URL is http://wordpress.example. Tests that need it are
// skipped if it is not set. wordpressFolder is the folder of its files.
const (
	wordpress       = "RESOURCESYNC_TEST_WORDPRESS"
	wordpressFolder = "RESOURCESYNC_TEST_WORDPRESS_FOLDER"
)

// A post is a post as WordPress describes it.
type post struct {
	ID   int    `json:"id"`
	Link string `json:"link"`
}

// A wordpressSite is the tested WordPress, without a proxy.
type wordpressSite struct {
	*proxied
	upstream string
	auth     string // a field of a header
}

func testedWordPress(t *testing.T) *wordpressSite {
	t.Helper()
	u, err := url.Parse(needs.Variable(t, wordpress))
	must(t, err)
	password, _ := u.User.Password()
	return &wordpressSite{
		&proxied{t: t, base: "http://" + u.Host + "/", client: &http.Client{Transport: hostOf("wordpress.example")}},
		"http://" + u.Host,
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)),
	}
}

// write sends a form to the REST interface, directly or through a proxy.
func (w *wordpressSite) write(p *proxied, method, path string, form url.Values, want int) (out post) {
	w.t.Helper()
	res, body := p.do(method, path, form.Encode(), w.auth, "Content-Type: application/x-www-form-urlencoded")
	if res.StatusCode != want {
		w.t.Fatalf("%s %s: %s %.300s", method, path, res.Status, body)
	}
	must(w.t, json.Unmarshal([]byte(body), &out))
	return out
}

// TestWordPress: an unmodified WordPress behind the proxy is a Source. Changes by its
// users appear within seconds; private posts never do.
func TestWordPress(t *testing.T) {
	site := testedWordPress(t)
	p := startProxy(t, site.upstream, "http://wordpress.example/", "--rescan", "10m", "--html-link", "--max-delete", "100%", "--ping-token", "ping",
		"--recent", "/wp-json/wp/v2/posts?orderby=modified&_fields=link,modified_gmt")
	p.stdout.await("Ready")
	has := func(path string) func() bool { return func() bool { return slices.Contains(p.listed(), path) } }
	for _, path := range []string{"/", "/hello-world/", "/sample-page/", "/category/uncategorized/"} {
		if !has(path)() {
			t.Fatalf("%s is not listed: %q", path, p.listed())
		}
	}
	write := func(method, path string, form url.Values, want int) post {
		return site.write(p, method, path, form, want)
	}
	const posts = "/wp-json/wp/v2/posts"

	// Private posts.
	for _, status := range []string{"draft", "private", "pending"} {
		write("POST", posts, url.Values{"title": {"Secret " + status}, "content": {"x"}, "status": {status}}, 201)
	}

	// Changes through the proxy.
	created := write("POST", posts, url.Values{"title": {"News"}, "content": {"first"}, "status": {"publish"}}, 201)
	took := p.within("a post is created", func() bool { return slices.Contains(p.changes(), "created /news/") })
	t.Log("created:", took)
	id := posts + "/" + strconv.Itoa(created.ID)
	write("POST", id, url.Values{"content": {"second"}}, 200)
	took = p.within("a post is updated", func() bool { return slices.Contains(p.changes(), "updated /news/") })
	t.Log("updated:", took)
	write("DELETE", id, nil, 200) // into the trash
	// A scan finds the deletion long before the next rescan.
	took = p.within("a post is deleted", func() bool { return slices.Contains(p.changes(), "deleted /news/") })
	t.Log("deleted:", took)

	// Changes past the proxy, and through forms.
	written := site.write(site.proxied, "POST", posts, url.Values{"title": {"Behind"}, "status": {"publish"}}, 201) // an earlier run may have left one of the same title
	p.ping()
	p.within("the next scan finds a post", has(strings.TrimPrefix(written.Link, "http://wordpress.example")))

	for _, path := range p.listed() {
		if strings.Contains(path, "secret") || path == "/news/" {
			t.Errorf("%s is listed", path)
		}
	}
	if changes := strings.Join(p.changes(), "\n"); strings.Contains(changes, "secret") {
		t.Error(changes)
	}
	testWordPressPages(t, p, site.auth)
	if folder := os.Getenv(wordpressFolder); folder != "" {
		testMaintenance(t, p, folder)
	}
}

// testWordPressPages: the website works as it does without the proxy.
func testWordPressPages(t *testing.T, p *proxied, auth string) {
	t.Helper()
	if res, body := p.do("GET", "/", ""); res.StatusCode != 200 || !strings.Contains(body, `<link rel="resourcesync" href="http://wordpress.example/resourcesync/capabilitylist.xml"/>`) ||
		len(res.Header["Link"]) != 2 {
		t.Errorf("front page: %s %q", res.Status, res.Header["Link"])
	}
	if res, _ := p.do("GET", "/wp-admin/", ""); res.StatusCode != 302 || !strings.HasPrefix(res.Header.Get("Location"), "http://wordpress.example/wp-login.php") {
		t.Errorf("admin: %s %v", res.Status, res.Header)
	}
	login := url.Values{"log": {"admin"}, "pwd": {"secret"}, "testcookie": {"1"}, "redirect_to": {"http://wordpress.example/wp-admin/"}}
	res, body := p.do("POST", "/wp-login.php", login.Encode(), "Content-Type: application/x-www-form-urlencoded", "Cookie: wordpress_test_cookie=WP%20Cookie%20check")
	if res.StatusCode != 302 || res.Header.Get("Location") != "http://wordpress.example/wp-admin/" {
		t.Fatalf("login: %s %v %.500s", res.Status, res.Header, body)
	}
	var cookies []string
	for _, c := range res.Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	if res, body := p.do("GET", "/wp-admin/edit.php?s=Hello", "", "Cookie: "+strings.Join(cookies, "; ")); res.StatusCode != 200 || !strings.Contains(body, "Hello world!") {
		t.Errorf("admin: %s %.300s", res.Status, body)
	}
	image := strings.Repeat("GIF89a not really ", 50_000)
	res, body = p.do("POST", "/wp-json/wp/v2/media", "\x89PNG\r\n\x1a\n"+image, auth, "Content-Type: image/png", "Content-Disposition: attachment; filename=upload.png")
	var media struct {
		Source string `json:"source_url"`
	}
	if err := json.Unmarshal([]byte(body), &media); err != nil || res.StatusCode != 201 {
		t.Fatalf("upload: %s %.300s", res.Status, body)
	}
	if res, body := p.do("GET", strings.TrimPrefix(media.Source, "http://wordpress.example"), ""); res.StatusCode != 200 || len(body) != len(image)+8 {
		t.Errorf("uploaded file: %s, %d bytes", res.Status, len(body))
	}
}

// testMaintenance: a website that answers 503 for everything deletes nothing.
func testMaintenance(t *testing.T, p *proxied, folder string) {
	t.Helper()
	before := p.listed()
	file := filepath.Join(folder, ".maintenance")
	must(t, os.WriteFile(file, []byte("<?php $upgrading = time();"), 0o644))
	defer os.Remove(file)
	p.ping()
	p.within("a scan fails", func() bool { return strings.Contains(p.stderr.String(), "scan failed") })
	if got := p.listed(); !slices.Equal(got, before) {
		t.Errorf("in maintenance %q are listed, %q before", got, before)
	}
}

// ping starts a scan.
func (p *proxied) ping() {
	p.t.Helper()
	if res, _ := p.do("POST", "/resourcesync/ping", "", "Authorization: Bearer ping"); res.StatusCode != 202 {
		p.t.Fatalf("ping: %s", res.Status)
	}
}

// hostOf sends requests to a host, regardless of the addresses in their URLs.
type hostOf string

// RoundTrip implements [http.RoundTripper].
func (h hostOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = string(h)
	return http.DefaultTransport.RoundTrip(r)
}
