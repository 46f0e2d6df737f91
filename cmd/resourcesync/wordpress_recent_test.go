package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestWordPressRecent edits posts past the proxy in a WordPress whose sitemap has no dates. The
// next scan finds edits of listed pages, unless --recent none switches that off. Pages that the
// sitemap does not name are never listed.
func TestWordPressRecent(t *testing.T) {
	site := testedWordPress(t)
	sitemap := filepath.Join(needs.Variable(t, wordpressFolder), "resourcesync-pages.txt")
	t.Cleanup(func() { os.Remove(sitemap) })
	const posts = "/wp-json/wp/v2/posts"
	var all []string // IDs
	defer func() {
		for _, id := range all {
			site.do("DELETE", id+"?force=true", "", site.auth)
		}
	}()
	create := func(title, status string) (path, id string) {
		t.Helper()
		made := site.write(site.proxied, "POST", posts, url.Values{"title": {title}, "content": {"first"}, "status": {status}}, 201)
		id = posts + "/" + strconv.Itoa(made.ID)
		all = append(all, id)
		return strings.TrimPrefix(made.Link, "http://wordpress.example"), id
	}
	name := func(paths ...string) {
		t.Helper()
		write(t, sitemap, "http://wordpress.example"+strings.Join(paths, "\nhttp://wordpress.example")+"\n")
	}
	listed, listedID := create("Listed", "publish")
	later, _ := create("Later", "publish")
	unlisted, unlistedID := create("Unlisted", "publish")
	private, privateID := create("Private", "private")
	name(listed, private)
	flags := []string{"--from-sitemap", "/resourcesync-pages.txt", "--rescan", "1s", "--revisit", "0"}
	asks := startProxy(t, site.upstream, "http://wordpress.example/", flags...)
	none := startProxy(t, site.upstream, "http://wordpress.example/", append(flags, "--recent", "none")...)
	for _, p := range []*proxied{asks, none} {
		p.stdout.await("Ready")
		if got := p.listed(); !slices.Equal(got, []string{listed}) {
			t.Fatalf("%q are listed, want %s", got, listed)
		}
	}

	for _, id := range []string{privateID, unlistedID, listedID} {
		site.write(site.proxied, "POST", id, url.Values{"content": {"second"}}, 200)
	}
	took := asks.within("an edit is published", func() bool { return slices.Contains(asks.changes(), "updated "+listed) })
	t.Log("updated:", took)
	name(listed, later, private)
	for _, p := range []*proxied{asks, none} { // another scan has ended
		p.within("a page of the sitemap is listed", func() bool { return slices.Contains(p.listed(), later) })
		if got := p.listed(); slices.Contains(got, unlisted) || slices.Contains(got, private) {
			t.Errorf("%q are listed", got)
		}
	}
	if got := none.changes(); slices.Contains(got, "updated "+listed) {
		t.Errorf("with --recent none, the changes are %q", got)
	}
	const line = "REST interface of WordPress is queried"
	if !strings.Contains(asks.stderr.String(), line) || strings.Contains(none.stderr.String(), line) {
		t.Errorf("log:\n%s\nwith --recent none:\n%s", asks.stderr, none.stderr)
	}
	if text := asks.stderr.String(); strings.Contains(text, "level=WARN") {
		t.Errorf("log:\n%s", text)
	}
}
