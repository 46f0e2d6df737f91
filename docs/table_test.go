package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestTable types what docs/table.md says, in a fresh clone, with an unmodified WordPress:
// from its database to a Source that a Destination audits, in at most five commands. The
// addresses of the Source, the website and the database are other ones.
func TestTable(t *testing.T) {
	needs.Program(t, "git")
	needs.Program(t, "bash")
	server, installed := needs.Variable(t, "RESOURCESYNC_TEST_WORDPRESS"), needs.Variable(t, "RESOURCESYNC_TEST_WORDPRESS_FOLDER")
	config, err := os.ReadFile(filepath.Join(installed, "wp-config.php"))
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		found := regexp.MustCompile(`define\('` + name + `', '([^']*)'\)`).FindSubmatch(config)
		if found == nil {
			t.Fatalf("wp-config.php has no %s", name)
		}
		return string(found[1])
	}
	database := (&url.URL{Scheme: "mysql", User: url.UserPassword(setting("DB_USER"), setting("DB_PASSWORD")), Host: setting("DB_HOST"), Path: "/" + setting("DB_NAME")}).String()

	// WordPress answers for its public name only.
	home, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	website := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: home.Host})
		r.Out.Host = "wordpress.example"
	}})
	t.Cleanup(website.Close)

	// The name of this post is percent-encoded in the database.
	post := japanesePost(t, home)

	folder, address := clone(t), needs.Address(t)
	// The website has a private address here, and other tests publish posts.
	replace := strings.NewReplacer("IN ('post', 'page')", fmt.Sprintf("IN ('post', 'page') AND ID IN (1, %d)", post), "./resourcesync mirror", "./resourcesync mirror --allow-addresses 127.0.0.0/8", "127.0.0.1:8080", address, "https://www.example.org", website.URL, "mysql://wordpress:PASSWORD@localhost/wordpress", database)
	t.Cleanup(func() {
		drop := shell(t, folder, "./resourcesync triggers --drop --table wp_posts --db '"+database+"'")
		if output, err := drop.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
	if commands := typeCommands(t, folder, address, blocks(t, "docs/table.md"), replace); commands == 0 || commands > 5 {
		t.Errorf("%d commands, want at most five", commands)
	}
}

// japanesePost publishes a post with a Japanese title in the WordPress at home, and returns its
// ID.
func japanesePost(t *testing.T, home *url.URL) int {
	t.Helper()
	form := url.Values{"title": {"日本語の題名 100%"}, "content": {"本文"}, "status": {"publish"}}
	do := func(method, path string, want int) (out struct{ ID int }) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+home.Host+"/wp-json/wp/v2/posts"+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "wordpress.example"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		password, _ := home.User.Password()
		r.SetBasicAuth(home.User.Username(), password)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != want {
			t.Fatalf("%s %s: %s, %v", method, path, res.Status, err)
		}
		return out
	}
	id := do(http.MethodPost, "", http.StatusCreated).ID
	t.Cleanup(func() { do(http.MethodDelete, fmt.Sprintf("/%d?force=true", id), http.StatusOK) })
	return id
}
