package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
)

// TestFaultsHelp: the error of a wrong setting names its place and a valid value, for a flag,
// a variable, and a file, in which check-config finds all faults without starting anything.
func TestFaultsHelp(t *testing.T) {
	const times, truth = "give a time with its unit, such as 30m, 48h or 90d", "give true or false"
	folder := "sets: [{kind: folder, folder: .}]"
	for _, test := range []struct {
		args []string // in which FILE is a file with the text
		file string
		env  string
		want string
	}{
		{args: []string{"serve", ".", "--rescan", "5"}, want: `serve: --rescan "5": ` + times},
		{args: []string{"serve", ".", "--retain", "1 minute"}, want: `--retain "1 minute": ` + times},
		{args: []string{"serve", "."}, env: "RESOURCESYNC_RESCAN=5", want: `RESOURCESYNC_RESCAN "5": ` + times},
		{file: "rescan: 1 minute\n" + folder, want: `site.yaml:1: rescan "1 minute": ` + times},
		{args: []string{"serve", ".", "--sitemap=yes"}, want: `--sitemap "yes": ` + truth},
		{file: "\nsitemap: ja\n" + folder, want: `site.yaml:2: sitemap "ja": ` + truth},
		{file: "sets:\n- kind: folder\n  folder: .\n  listen: :1", want: "site.yaml:4: listen belongs at the top of the file, not in a set"},
		{file: "folder: .\n" + folder, want: "site.yaml:1: folder belongs in a set of kind: folder"},
		{file: "sets:\n- kind: upstream\n  upstream: http://127.0.0.1\n  folder: .", want: "site.yaml:4: folder belongs in a set of kind: folder"},
		{file: "sets:\n- kind: table\n  db: a\n  table: b\n  key: c\n  uri: 'http://a/{post-name'", want: `site.yaml:6: uri "http://a/{post-name": URI template "http://a/{post-name" has a { without a }`},
		{file: "sets:\n- kind: bucket\n  bucket: s3://a\n  uri: 'http://a/{key'", want: `site.yaml:4: uri "http://a/{key": bucket: URI`},
		{file: "sets:\n- kind: oai\n  url: http://a/\n  uri: 'http://a/{local'", want: `site.yaml:4: uri "http://a/{local": `},
		{file: "listen: 127.0.0.1:81\nstatus: 127.0.0.1:81\n" + folder, want: `site.yaml:2: status "127.0.0.1:81": --listen has this address and port; give another port`},
		{args: []string{"serve", ".", "--status", ":81", "--listen", "127.0.0.1:81"}, want: `--status ":81": --listen has this address`},
		{file: "base-url: 127.0.0.1:8080\n" + folder, want: `site.yaml:1: base-url "127.0.0.1:8080": must begin with http:// or https://`},
		{args: []string{"mirror", "http://127.0.0.1/", "copy", "--name", "two words"}, want: `--name "two words": give letters, digits and !#$%&'*+-.^_` + "`|~, 64 at most"},
		{args: []string{"serve", ".", "--harvesters-keep"}, want: "--harvesters-keep: needs --status, which shows them"},
		{args: []string{"serve", ".", "-p", "80"}, want: "unknown flag --p; did you mean --listen?"},
		{args: []string{"serve", ".", "--port=80"}, want: "unknown flag --port; did you mean --listen?"},
		{args: []string{"serve", ".", "--listne", ":80"}, want: "unknown flag --listne; did you mean --listen?"},
		{args: []string{"serve", ".", "--listen"}, want: "--listen needs a value"},
		{args: []string{"proxy", "http://127.0.0.1"}, want: `unexpected argument "http://127.0.0.1"; did you mean --upstream http://127.0.0.1?`},
		{args: []string{"table", "--db", "wpdb", "--table", "a", "--key", "b", "--uri", "http://a/{b}", "--listen", "127.0.0.1:0"}, want: `--db "wpdb": there is no such file; the name of a database needs its server, as in mysql://user@127.0.0.1/wpdb`},
		{args: []string{"serve", ".", "--package-size", "5"}, want: `--package-size "5": give 1KiB or more`},
		{args: []string{"serve", ".", "--exclude", "[a"}, want: `--exclude "[a": give a name such as Thumbs.db or *.tmp`},
		{args: []string{"serve", ".", "--exclude", "*.tmp", "--exclude", "none"}, want: `--exclude "*.tmp none": none excludes nothing; leave it out, or the patterns`},
		{args: []string{"serve", ".", "--ignore", "*.tmp"}, want: "unknown flag --ignore; did you mean --exclude?"},
		{file: "sets:\n- kind: folder\n  folder: .\n  exclude: [litter, ../a]", want: `site.yaml:4: exclude "../a": give a name`},
		{args: []string{"table", "cms.db"}, want: `unexpected argument "cms.db"; did you mean --db cms.db?`},
		{file: "sets:\n- kind: folder\n  folder: /none", want: `site.yaml:3: folder "/none": there is no folder of this name`},
		{args: []string{"run", "FILE"}, file: "sets:\n- kind: folder\n  folder: /none", want: `site.yaml:3: folder "/none": there is no folder of this name`},
		{file: "sets:\n- name: callback\n  kind: folder\n  folder: .", want: `site.yaml:2: name "callback": the URLs of notifications from hubs have this name`},
		{args: []string{"serve", ".", "--contact", "the library"}, want: `--contact "the library": give an email address`},
		{file: "title: A\nsets:\n- kind: folder\n  folder: .\n  contact: the library", want: `site.yaml:5: contact "the library": give an email address`},
		{args: []string{"serve", ".", "--publish", "s3://a"}, want: `--publish "s3://a": needs --base-url`},
		{args: []string{"serve", ".", "--publish", "/srv/a", "--base-url", "http://a/"}, want: `--publish "/srv/a": bucket "/srv/a": give s3://NAME`},
		{file: "base-url: http://a/\nretain: 1h\npublish: s3://a\n" + folder, want: "publish \"s3://a\": needs a --publish-lists (1h0m0s) shorter than --retain"},
		{args: []string{"serve", ".", "--read-from", "postgres://standby/a"}, want: `--read-from "postgres://standby/a": needs a --state in PostgreSQL`},
		{args: []string{"serve", ".", "--state", "postgres://db/a", "--read-from", "standby"}, want: `--read-from "standby": give a database of PostgreSQL`},
		{file: "base-url: http://a/\npublish-gzip: true\npublish: gs://a\n" + folder, want: `site.yaml:3: publish "gs://a": excludes --publish-gzip`},
		{file: "publish-lists: 10ms\n" + folder, want: `site.yaml:1: publish-lists "10ms": give a second or more`},
		{file: "tls-cert: a\n" + folder, want: `site.yaml:1: tls-cert "a": give --tls-key as well`},
	} {
		t.Run(test.want, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "site.yaml")
			write(t, file, test.file)
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			args := test.args
			if args == nil {
				args = []string{"check-config", "FILE"}
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "FILE", file)
			}
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), args, &stdout, &stderr); status != exit.Usage || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("status %d\n%s%s", status, &stdout, &stderr)
			}
		})
	}
}

// TestCheckConfigEnds: the last line is OK or the number of faults, which are all printed.
func TestCheckConfigEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	for text, want := range map[string]string{
		"sets: [{kind: folder, folder: .}]":                                                                    "# OK\n",
		"page-size: 0\nsets: [{kind: folder, folder: .}]":                                                      "site.yaml has 1 fault\n",
		"page-size: x\nrescan: 5\nlisten: 1\nsets: [{kind: foldr}, {kind: folder, folder: ., hashh: md5}, {}]": "site.yaml has 5 faults\n",
		"page-size: 0\nlisten: x\nstatus: y\nsets: [{kind: folder, folder: ., hash: crc}]":                     "site.yaml has 4 faults\n",
		"state: " + file + ".db\nsets: [{kind: folder, folder: /none}]":                                        "site.yaml has 1 fault\n",
		"a: [{}]\nlisten:\nlisten: 2\n":                                                                        "site.yaml has 3 faults\n",
	} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		var out bytes.Buffer
		run(t.Context(), []string{"check-config", file}, &out, &out)
		if !strings.HasSuffix(out.String(), want) || strings.Count(out.String(), "resourcesync: ") > 6 {
			t.Errorf("%s:\n%s", text, &out)
		}
	}
}
