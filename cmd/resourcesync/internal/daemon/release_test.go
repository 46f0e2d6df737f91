package daemon

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
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
			c := configOf(t, command, strings.Fields(args)...)
			base, err := url.Parse("https://derived.example/")
			must(t, err)
			p := &publication{daemon: &daemon{state: &state.State{Place: "/cache/default.db"}}, site: c, base: base, derived: c.BaseURL == ""}
			got, hidden := p.release()
			if want := "resourcesync confirm-deletions " + test.want; got != want || hidden != test.hidden {
				t.Errorf("%s (hidden: %t), want %s", got, hidden, want)
			}
		})
	}
}

// TestConfirmCommand: problems and the log name the configuration file.
func TestConfirmCommand(t *testing.T) {
	if got := confirmCommand(&site.Config{File: "/etc/my site.yaml"}); got != "resourcesync confirm-deletions --config '/etc/my site.yaml'" {
		t.Error(got)
	}
	if got := confirmCommand(new(site.Config)); got != "resourcesync confirm-deletions" {
		t.Error(got)
	}
}
