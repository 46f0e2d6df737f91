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

// TestWordPressPings: WordPress with the snippets of the documentation notifies a sidecar of each
// change of a public post. Posts with a password and pages of authors are not listed.
func TestWordPressPings(t *testing.T) {
	site := testedWordPress(t)
	folder := filepath.Join(needs.Variable(t, wordpressFolder), "wp-content", "mu-plugins")
	for _, form := range []url.Values{
		{"title": {"With a password"}, "content": {"hidden words"}, "status": {"publish"}, "password": {"open"}},
		{"title": {"Without"}, "content": {"shown"}, "status": {"publish"}},
	} {
		written := site.write(site.proxied, "POST", "/wp-json/wp/v2/posts", form, 201)
		defer site.write(site.proxied, "DELETE", "/wp-json/wp/v2/posts/"+strconv.Itoa(written.ID)+"?force=true", nil, 200)
	}
	listed := func(p *proxied) string { return strings.Join(p.listed(), " ") }
	flags := []string{"--beside", "--rescan", "10m", "--revisit", "0", "--recent", "none", "--max-delete", "100%", "--ping-token", "ping"}
	p := startProxy(t, site.upstream, "http://wordpress.example/", flags...)
	p.stdout.await("Ready")
	if all := listed(p); !strings.Contains(all, "/author/admin/") || !strings.Contains(all, "/with-a-password") || !strings.Contains(all, "/without") {
		t.Fatalf("an unmodified WordPress lists %s", all)
	}
	p.stop()

	plugin := snippet(t, "sidecar.md", "#### Pings from WordPress", "php")
	filter := snippet(t, "sidecar.md", "#### Authors and passwords", "php")
	p = startProxy(t, site.upstream, "http://wordpress.example/", append(flags, "--exclude", "/author/*")...)
	_, port, _ := strings.Cut(p.address, ":")
	file := filepath.Join(folder, "resourcesync.php")
	// The tested WordPress sends requests to no other host.
	write(t, file, strings.NewReplacer("127.0.0.1:8080", "localhost:"+port, "the token", "ping").Replace(plugin)+filter)
	defer os.RemoveAll(folder)
	p.ping()
	p.within("posts with a password and authors are not listed", func() bool {
		all := listed(p)
		return !strings.Contains(all, "/author/") && !strings.Contains(all, "/with-a-password") && strings.Contains(all, "/without")
	})

	post := func(form url.Values, id string, want int) post {
		return site.write(site.proxied, "POST", "/wp-json/wp/v2/posts"+id, form, want)
	}
	created := post(url.Values{"title": {"Pinged"}, "content": {"first"}, "status": {"publish"}}, "", 201)
	path := strings.TrimPrefix(created.Link, "http://wordpress.example")
	id := "/" + strconv.Itoa(created.ID)
	changed := func(change string) {
		t.Helper()
		t.Log(change, p.within(change, func() bool { return slices.Contains(p.changes(), change+" "+path) }))
	}
	changed("created")
	post(url.Values{"content": {"second"}}, id, 200)
	changed("updated")
	post(url.Values{"status": {"draft"}}, id, 200)
	changed("deleted")
}
