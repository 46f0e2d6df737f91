package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// loaded reads a configuration file with this text, with more arguments.
func loaded(t *testing.T, text string, args ...string) (*site.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, text)
	r, err := parseRun("run", append(args, file))
	if err != nil {
		return nil, err
	}
	return r.load()
}

// Errors of a file state the line and a remedy, without secrets.
func TestFaultyFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":         {"", "site.yaml is empty"},
		"no YAML":         {"listen: [", "site.yaml is not YAML: line 1"},
		"a text":          {"serve", "site.yaml:1: give lines of the form name: value"},
		"two documents":   {"listen: :1\n---\nlisten: :2\n", "more than one document"},
		"no sets":         {"listen: :1", "site.yaml has no sets"},
		"empty sets":      {"sets: []", "site.yaml has no sets"},
		"sets are none":   {"sets: folder", "site.yaml:1: sets is a list"},
		"a set is none":   {"sets:\n  - folder", "site.yaml:2: give lines of the form name: value"},
		"misspelled":      {"listne: :1\nsets: [{kind: folder, folder: .}]", "site.yaml:1: listne: unknown setting; did you mean listen?"},
		"of another kind": {"sets:\n  - kind: upstream\n    upstream: http://127.0.0.1\n    hash: md5", "site.yaml:4: hash belongs in a set of kind: folder"},
		"of a set":        {"hash: md5\nsets: [{kind: folder, folder: .}]", "site.yaml:1: hash belongs in a set of kind: folder, in the list sets"},
		"of the site":     {"sets:\n- kind: folder\n  folder: .\n  listen: :1", "site.yaml:4: listen belongs at the top of the file, not in a set"},
		"twice":           {"listen: :1\nlisten: :2", "site.yaml:2: duplicate key listen (first on line 1)"},
		"no value":        {"listen:\nsets: [{kind: folder, folder: .}]", "site.yaml:1: listen has no value"},
		"a mapping":       {"listen: {a: b}", "site.yaml:1: listen has a value or a list of values"},
		"several values":  {"listen: [a, b]\nsets: [{kind: folder, folder: .}]", "site.yaml:1: listen takes one value"},
		"not a number":    {"page-size: many\nsets: [{kind: folder, folder: .}]", `site.yaml:1: page-size "many": give a whole number`},
		"not a time":      {"sets:\n- {kind: folder, folder: ., rescan: 5}", `site.yaml:2: rescan "5": give a time with its unit, such as 30m, 48h or 90d`},
		"too small":       {"page-size: 0\nsets: [{kind: folder, folder: .}]", `site.yaml:1: page-size "0": a page has`},
		"wrong in a set":  {"sets: [{kind: folder, name: a, folder: ., hash: crc}]", `site.yaml:1: hash "crc": give`},
		"no kind":         {"sets:\n- folder: .", "site.yaml:2: a set without a kind"},
		"kind misspelled": {"sets:\n- kind: foldr", `unknown kind "foldr"; did you mean folder?`},
		"no folder":       {"sets: [{kind: folder}]", "site.yaml:1: a set of the kind folder has no folder; add the folder whose files are to be published, as in folder: /srv/files"},
		"no name":         {"sets:\n- {kind: folder, folder: .}\n- {kind: folder, folder: .}", "site.yaml:2: a set without a name"},
		"same name":       {"sets:\n- {kind: folder, folder: ., name: a}\n- {kind: folder, folder: ., name: a}", `site.yaml:3: name "a": two sets have this name`},
		"same path":       {"sets:\n- {kind: folder, folder: ., name: a}\n- {kind: folder, folder: ., name: b}", `site.yaml:3: two sets have the path /`},
		"odd name":        {"sets: [{kind: folder, folder: ., name: a/b}]", `site.yaml:1: name "a/b"`},
		"odd path":        {"sets: [{kind: folder, folder: ., name: a, path: ../b}]", `site.yaml:1: path "../b"`},
		"path of nothing": {"sets: [{kind: upstream, upstream: 'http://127.0.0.1', beside: true, name: a, path: b}]", "has no path"},
		"in documents":    {"sets: [{kind: folder, folder: ., name: a, path: /resourcesync/b}]", `site.yaml:1: path "/resourcesync/b": the documents are in /resourcesync/`},
		"at the hub":      {"sets: [{kind: folder, folder: ., name: a, path: websub}]", `site.yaml:1: path "websub": the built-in hub has this path`},
		"no address":      {"listen: 8080\nsets: [{kind: folder, folder: .}]", `site.yaml:1: listen "8080": give an address and a port`},
		"no port":         {"status: ':99999'\nsets: [{kind: folder, folder: .}]", `site.yaml:1: status ":99999": give an address and a port`},
		"secret state":    {"state: mysql://me:sesame@host/db\nsets: [{kind: folder, folder: .}]", `site.yaml:1: state "mysql://me:xxxxx@host/db": give a file`},
		"odd password":    {"state: postgres://me:1/sesame@host/db\nsets: [{kind: folder, folder: .}]", `site.yaml:1: state "*****": percent-encode special characters`},
		"odd password #":  {"sets: [{kind: table, table: t, key: id, uri: 'http://a/{id}', db: 'mysql://me:1#sesame@host/db'}]", `site.yaml:1: db "*****": percent-encode special characters`},
		"secret upstream": {"sets: [{kind: upstream, upstream: 'http://me:sesame@127.0.0.1'}]", `site.yaml:1: upstream "http://me:xxxxx@127.0.0.1": leave out user names`},
		"secret endpoint": {"sets: [{kind: bucket, bucket: 's3://b?endpoint=http://me:sesame@host', uri: 'http://a/{key}'}]", "bucket s3://b: the endpoint has credentials"},
		"secret bucket":   {"sets: [{kind: bucket, bucket: 's4://me:sesame@b', uri: 'http://a/{key}'}]", "the scheme s4 is not known"},
		"secret hub":      {"hub: https://user:sesame@hub.example.org/\nsets: [{kind: folder, folder: .}]", "leave out user names"},
		"secret and file": {"ping-token: sesame\nping-token-file: x\nsets: [{kind: folder, folder: .}]", "contradict each other"},
		"no secret file":  {"ping-token-file: /nonexistent\nsets: [{kind: folder, folder: .}]", `site.yaml:1: ping-token-file: "/nonexistent": no such file`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loaded(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}

// Flags have priority over variables, and variables over the file. A setting of a set
// has priority over the default for all sets.
func TestPriorities(t *testing.T) {
	const text = `
listen: 127.0.0.1:1
base-url: http://file.example.org/
prefix: /file/
page-size: 1_000
rescan: 1m
hub: [own, https://hub.example.org/]
allow-callbacks: 10.0.0.0/8
sets:
  - {name: a, kind: folder, folder: ., rescan: 2m, path: a}
  - {name: b, kind: folder, folder: ., path: /b/}
`
	t.Setenv("RESOURCESYNC_BASE_URL", "http://variable.example.org/")
	t.Setenv("RESOURCESYNC_PREFIX", "/variable/")
	t.Setenv("RESOURCESYNC_ALLOW_CALLBACKS", "10.1.0.0/16 10.2.0.0/16")
	t.Setenv("RESOURCESYNC_MAX_DELETE", "7%")
	t.Setenv("RESOURCESYNC_PORT", "tcp://10.0.0.1:80") // as Kubernetes has it
	c, err := loaded(t, text, "--prefix", "/flag/", "--allow-callbacks=10.3.0.0/16")
	must(t, err)
	a, b := c.Sets[0].Shared(), c.Sets[1].Shared()
	if c.Listen != "127.0.0.1:1" || c.BaseURL != "http://variable.example.org/" || c.Prefix != "/flag/" || c.PageSize != 1000 || len(c.Push.Foreign) != 1 || !c.Push.Own {
		t.Errorf("%+v", c)
	}
	if len(c.Push.Callbacks) != 1 || c.Push.Callbacks[0].String() != "10.3.0.0/16" {
		t.Errorf("callbacks: %v", c.Push.Callbacks)
	}
	if a.Rescan != 2*time.Minute || b.Rescan != time.Minute || a.MaxDelete != 0.07 || b.MaxDelete != 0.07 || a.Path != "a/" || b.Path != "b/" {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// Each command also takes its flags from variables, and reports misspelled ones.
func TestVariables(t *testing.T) {
	t.Setenv("RESOURCESYNC_HASH", "md5")
	t.Setenv("RESOURCESYNC_EXCLUDE", "/a/* /b/*")
	c, err := parseServe([]string{"folder", "--page-size", "7"})
	must(t, err)
	if text := string(c.Effective()); !strings.Contains(text, "hash: md5\n") || !strings.Contains(text, "page-size: 7\n") {
		t.Error(text)
	}
	c, err = parseProxy([]string{"--upstream", "http://127.0.0.1"})
	must(t, err)
	if text := string(c.Effective()); !strings.Contains(text, "/a/*") || !strings.Contains(text, "/b/*") {
		t.Error(text)
	}
	t.Setenv("RESOURCESYNC_HASH", "md4")
	if _, err := parseServe([]string{"folder"}); err == nil || !strings.Contains(err.Error(), `RESOURCESYNC_HASH "md4": give`) {
		t.Error(err)
	}
	t.Setenv("RESOURCESYNC_HASH", "")
	t.Setenv("RESOURCESYNC_PAGE_SIZE", "x")
	if _, err := parseServe([]string{"folder"}); err == nil || !strings.Contains(err.Error(), `RESOURCESYNC_PAGE_SIZE "x": give a whole number`) {
		t.Error(err)
	}
	t.Setenv("RESOURCESYNC_PAGE_SIZE", "")
	t.Setenv("RESOURCESYNC_PAGE_SIZ", "10")
	if _, err := parseServe([]string{"folder"}); err == nil || !strings.Contains(err.Error(), "did you mean RESOURCESYNC_PAGE_SIZE?") {
		t.Error(err)
	}
}

// A secret is read from a file without its final newline, and never shown.
func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	token, hubs := filepath.Join(dir, "token"), filepath.Join(dir, "hubs")
	write(t, token, "sesame\n")
	write(t, hubs, "own\nhttps://:sesame@hub.example.org/\n\n")
	file := filepath.Join(dir, "site.yaml")
	write(t, file, "hub-file: "+hubs+"\nbase-url: http://example.org\nstate: postgres://me:sesame@127.0.0.1:1/db\nsets:\n- {kind: folder, folder: "+dir+"}\n")
	t.Setenv("RESOURCESYNC_PING_TOKEN_FILE", token)
	r, err := parseRun("run", []string{"--config", file})
	must(t, err)
	c, err := r.load()
	must(t, err)
	if c.Sets[0].Shared().PingToken != "sesame" || len(c.Push.Foreign) != 1 || c.Push.Foreign[0].Token != "sesame" || !c.Push.Own {
		t.Errorf("%+v %+v", c, c.Sets[0])
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"check-config", file}, &stdout, &stderr); status != 0 || strings.Contains(stdout.String()+stderr.String(), "sesame") ||
		!strings.Contains(stdout.String(), "hub-file: "+hubs) || !strings.Contains(stdout.String(), "postgres://me:xxxxx@127.0.0.1:1/db") {
		t.Errorf("status %d\n%s%s", status, &stdout, &stderr)
	}
	// Neither an error nor the log shows the password of the state.
	stderr.Reset()
	if status := run(t.Context(), []string{"run", "--listen", "127.0.0.1:0", file}, &stdout, &stderr); status != exit.Failed || strings.Contains(stderr.String(), "sesame") {
		t.Errorf("status %d\n%s", status, &stderr)
	}
	for _, content := range []string{"", "\n", "a\x00b", strings.Repeat("x", 1<<20)} {
		write(t, token, content)
		if _, err := r.load(); err == nil || !strings.Contains(err.Error(), "token") {
			t.Errorf("%.10q: %v", content, err)
		}
	}
}

// The output of check-config is an equivalent configuration file.
func TestCheckConfig(t *testing.T) {
	dir := t.TempDir()
	file, again := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "again.yaml")
	write(t, file, `{hub: [own, "https://hub.example.org/"], described-by: "urn:a:b", client-header: x-real-ip, sets: [{name: "1", kind: folder, folder: `+dir+`, max-delete: 5%},
		{name: site, kind: upstream, path: site, upstream: "http://127.0.0.1:1", exclude: ["*a", "/b: c"]}]}`)
	check := func(file string) string {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{"check-config", file}, &stdout, &stderr); status != 0 {
			t.Fatalf("status %d: %s", status, &stderr)
		}
		return stdout.String()
	}
	first := check(file)
	write(t, again, first)
	if second := check(again); second != first {
		t.Errorf("got\n%s\nwant\n%s", second, first)
	}
	for _, want := range []string{"hub: [own, 'https://hub.example.org/']", "page-size: 10000", "# state: a file in the cache folder", "max-delete: 5%", "client-header: x-real-ip"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s in\n%s", want, first)
		}
	}
	sets := "sets: [{kind: folder, folder: " + dir + "}]"
	for text, want := range map[string]string{
		"sets: [{kind: folder, folder: " + filepath.Join(dir, "none") + "}]": "there is no folder",
		"listen: :8080\n" + sets:                   "--listen :8080 accepts connections at all addresses",
		"listen: '[::]:8080'\n" + sets:             "as in --base-url http://files.example.org:8080/",
		"tls-cert: none\ntls-key: none\n" + sets:   "--tls-cert, --tls-key: ",
		"state: " + dir + "/none/site.db\n" + sets: "there is no folder",
	} {
		write(t, file, text)
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{"check-config", file}, &stdout, &stderr); status != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d: %s%s", text, status, &stdout, &stderr)
		}
	}
}

// Commands that copy or check a Source show no password, because they take none.
func TestUserOfSource(t *testing.T) {
	for _, args := range [][]string{{"mirror", "http://me:sesame@127.0.0.1:1/", t.TempDir()}, {"check", "http://me:sesame@127.0.0.1:1/"}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), "leave out the user") || strings.Contains(stderr.String(), "sesame") {
			t.Errorf("%q: status %d: %s", args, status, &stderr)
		}
	}
}

// A state must not be in a folder of any set.
func TestStateInFolderOfASet(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "b"), 0o755))
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, "state: "+dir+"/b/state.db\nsets: [{kind: folder, folder: "+dir+", name: a, path: a}]")
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"check-config", file}, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), "in the folder that is published") {
		t.Errorf("status %d: %s%s", status, &stdout, &stderr)
	}
}

// The example in the documents is a valid configuration, and equal to the file.
func TestExampleConfig(t *testing.T) {
	text := read(t, "../../deploy/site.yaml")
	if !strings.Contains(read(t, "../../docs/configuration.md"), "```yaml\n"+text+"```\n") {
		t.Error("docs/configuration.md has another example than deploy/site.yaml")
	}
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "sesame")
	c, err := loaded(t, strings.ReplaceAll(text, "/etc/resourcesync/ping-token", token))
	must(t, err)
	if len(c.Sets) != 2 || c.Sets[0].Shared().Rescan != time.Minute || c.Sets[1].Shared().Rescan != 10*time.Minute {
		t.Errorf("%+v", c)
	}
}

// TestTitles: a set does not inherit the title of the site.
func TestTitles(t *testing.T) {
	c, err := loaded(t, "title: Library\nsets: [{name: a, kind: folder, folder: ., title: Papers}, {name: b, kind: folder, folder: ., path: b}]", "--contact", "a@example.org")
	must(t, err)
	a, b := c.Sets[0].Shared().About.About, c.Sets[1].Shared().About.About
	if (c.About.About != rshttp.About{Title: "Library", Contact: "a@example.org"}) || (a != rshttp.About{Title: "Papers"}) || (b != rshttp.About{}) {
		t.Errorf("the site is %+v, and its sets are %+v and %+v", c.About.About, a, b)
	}
}
