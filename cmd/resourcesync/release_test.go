package main

import (
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRelease: the command that confirms deletions names the set and the state, wherever they were
// given, and no password.
func TestRelease(t *testing.T) {
	here, err := os.Getwd()
	must(t, err)
	config := filepath.Join(t.TempDir(), "site.yaml")
	write(t, config, "state: /var/lib/a.db\nbase-url: https://example.org/\nsets: [{kind: folder, folder: .}]")
	secret := filepath.Join(t.TempDir(), "db")
	write(t, secret, "mysql://u:sesame@h/d")
	for _, test := range []struct {
		args   string
		env    string
		want   string // behind confirm-deletions
		hidden bool
	}{
		{args: "serve papers --listen :1 --hash md5", want: "serve " + here + "/papers --hash md5 --state /cache/default.db"},
		{args: "serve --state s.db --max-delete 5%", env: "RESOURCESYNC_FOLDER=/srv/my files", want: "serve '/srv/my files' --state " + here + "/s.db"},
		{args: "serve /srv --state postgres://u:sesame@h/d", want: "serve /srv --state postgres://u:xxxxx@h/d --base-url https://derived.example/", hidden: true},
		{args: "serve /srv --state postgres://u@h/d --base-url https://example.org", want: "serve /srv --base-url https://example.org --state postgres://u@h/d"},
		{args: "proxy --upstream http://127.0.0.1:1/ --beside", want: "proxy --beside=true --upstream http://127.0.0.1:1/ --state /cache/default.db"},
		{args: "table --db mysql://u:sesame@h/d --table a --key b --uri http://a/{b} --state s.db", want: "table --db mysql://u:xxxxx@h/d --key b --table a --uri 'http://a/{b}' --state " + here + "/s.db", hidden: true},
		{args: "table --db-file " + secret + " --table a --key b --uri http://a/{b} --state s.db", want: "table --db-file " + secret + " --key b --table a --uri 'http://a/{b}' --state " + here + "/s.db"},
		{args: "oai http://a/oai --uri http://a/{local} --state /s.db", want: "oai --uri 'http://a/{local}' http://a/oai --state /s.db"},
		{args: "run " + config, want: "--config " + config},
		{args: "run " + config, env: "RESOURCESYNC_STATE=/b.db", want: "--config " + config + " --state /b.db"},
	} {
		t.Run(test.want, func(t *testing.T) {
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			command, args, _ := strings.Cut(test.args, " ")
			var c *siteConfig
			var err error
			if command == "run" {
				r, wrong := parseRun(command, strings.Fields(args))
				must(t, wrong)
				c, err = r.load()
			} else {
				c, err = parseSite(command, kindOf(command), strings.Fields(args))
			}
			must(t, err)
			base, err := url.Parse("https://derived.example/")
			must(t, err)
			p := &publication{daemon: &daemon{state: &state{place: "/cache/default.db"}}, site: c, base: base, derived: c.baseURL == ""}
			got, hidden := p.release()
			if want := "resourcesync confirm-deletions " + test.want; got != want || hidden != test.hidden {
				t.Errorf("%s (hidden: %t), want %s", got, hidden, want)
			}
		})
	}
}

// shownCommand returns the command on the status page that confirms held deletions, without the
// name of the program, after its question and the form of its times were checked.
func (s *served) shownCommand(question string) []string {
	s.t.Helper()
	_, page := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], "Mozilla/5.0", "text/html")
	checkTimes(s.t, page)
	found := regexp.MustCompile(`<code>resourcesync (confirm-deletions .*)</code>`).FindStringSubmatch(page)
	if found == nil || !strings.Contains(html.UnescapeString(page), question) {
		s.t.Fatalf("no command, or not %q:\n%s", question, page)
	}
	return strings.Fields(strings.ReplaceAll(html.UnescapeString(found[1]), "'", "")) // no word has a space
}

// checkTimes checks that people see the times on a page in one form.
func checkTimes(t testing.TB, page string) {
	t.Helper()
	if other := regexp.MustCompile(`.*[^"]\d{4}-\d\d-\d\dT.*`).FindString(page); other != "" {
		t.Errorf("a time in another form: %s", other)
	}
}
