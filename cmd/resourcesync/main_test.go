package main

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// beMain in the environment makes the test binary the program itself, for tests
// of a process of its own.
const beMain = "RESOURCESYNC_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
	}
	os.Exit(runTests(m))
}

// runTests runs the tests with a cache folder of their own.
func runTests(m *testing.M) int {
	home, err := os.MkdirTemp("", "resourcesync")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	os.Setenv("HOME", home)
	os.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	return m.Run()
}

func Example() {
	run(context.Background(), []string{"help"}, os.Stdout, os.Stderr)
	// Output:
	// resourcesync turns an existing folder, website or table into a ResourceSync Source,
	// so that others can copy it and stay in sync.
	//
	// Commands:
	//   serve DIR              publish the files of a folder
	//   proxy --upstream URL   publish a website by its sitemaps
	//   confirm-deletions DIR  publish the deletions that serve holds
	//   triggers               record the changes of a database table
	//   version                print the version of this program
	//
	// "resourcesync COMMAND --help" describes a command.
}

func TestHelp(t *testing.T) {
	for command, calls := range map[string][][]string{
		"help":              {{"help"}, {"--help"}, {"-h"}},
		"serve":             {{"serve", "--help"}, {"serve", "-h"}, {"serve", ".", "--help"}},
		"proxy":             {{"proxy", "--help"}, {"proxy", "-h"}},
		"triggers":          {{"triggers", "--help"}},
		"confirm-deletions": {{"confirm-deletions", "--help"}, {"confirm-deletions", "--upstream", "http://127.0.0.1", "-h"}},
	} {
		want := read(t, "help/"+command+".txt")
		for _, args := range calls {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), args, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
				t.Errorf("%q: status %d, stderr %q", args, status, &stderr)
			}
			if stdout.String() != want {
				t.Errorf("%q: got\n%s\nwant\n%s", args, &stdout, want)
			}
		}
	}
}

// The help of a command explains each of its flags, in alphabetical order, and states the
// default of those that take a value.
func TestHelpOfFlags(t *testing.T) {
	serveHelp := helpOfFlags(t, "serve", serveFlags(new(serveConfig)))
	proxyHelp := helpOfFlags(t, "proxy", proxyFlags(new(proxyConfig)))
	helpOfFlags(t, "triggers", triggersFlags(new(triggersConfig)))
	differ := []string{"base-url", "dumps", "max-delete", "moved", "page-size", "prefix", "rescan", "sitemap", "state"}
	for name, text := range proxyHelp {
		if of, shared := serveHelp[name]; shared && (of != text) != slices.Contains(differ, name) {
			t.Errorf("--%s: serve says\n%s\nproxy says\n%s", name, of, text)
		}
	}
}

// helpOfFlags returns the texts of flags in the help of a command.
func helpOfFlags(t *testing.T, command string, flags *flag.FlagSet) map[string]string {
	t.Helper()
	_, list, _ := strings.Cut(read(t, "help/"+command+".txt"), "\nFlags:\n")
	texts := make(map[string]string)
	flags.VisitAll(func(f *flag.Flag) {
		text, found := strings.CutPrefix(list, "  --"+f.Name+"\n")
		if !found {
			t.Fatalf("%s: not --%s but %.100s", command, f.Name, list)
		}
		end := strings.Index(text+"  --", "\n  --") + 1
		text, list = text[:end], text[end:]
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "        ") {
				t.Errorf("%s --%s: %s is not indented", command, f.Name, line)
			}
		}
		texts[f.Name] = text
		if command != "triggers" {
			testStatesDefault(t, f, text)
		}
	})
	if list != "" {
		t.Errorf("%s: no such flag: %s", command, list)
	}
	return texts
}

func testStatesDefault(t *testing.T, f *flag.Flag, text string) {
	t.Helper()
	_, stated, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "\n        Default: ")
	switch f.DefValue {
	case "false":
		if ok {
			t.Errorf("--%s takes no value and states a default", f.Name)
		}
	case "":
		if !ok {
			t.Errorf("--%s: not told what happens without it", f.Name)
		}
	default:
		if f.Value.Set(stated) != nil || f.Value.String() != f.DefValue {
			t.Errorf("--%s: states %q, is %q", f.Name, stated, f.DefValue)
		}
	}
}

func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"version"}, &stdout, &stderr)
	if status != 0 || !regexp.MustCompile(`^resourcesync \S+ go\S+\n$`).MatchString(stdout.String()) {
		t.Errorf("status %d, %q, %q", status, &stdout, &stderr)
	}
}

// What cannot begin says so in one line that tells what to do, with status 2.
func TestRefusals(t *testing.T) {
	here := t.TempDir()
	file := filepath.Join(here, "file\nname")
	write(t, file, "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer busy.Close()

	tests := map[string]struct {
		args []string
		hint string
	}{
		"nothing":             {nil, `"resourcesync serve DIR"`},
		"unknown command":     {[]string{"sevre", here}, `"resourcesync help"`},
		"version of what":     {[]string{"version", "serve"}, "takes no arguments"},
		"no folder":           {[]string{"serve"}, "no folder given"},
		"two folders":         {[]string{"serve", here, "--sitemap", "more"}, `"more" is one too many`},
		"missing folder":      {[]string{"serve", filepath.Join(here, "none\n")}, "there is no folder"},
		"a file":              {[]string{"serve", file}, "give the folder that it is in"},
		"below a file":        {[]string{"serve", filepath.Join(file, "x")}, "not a directory"},
		"unknown flag":        {[]string{"serve", "--port", "80", here}, `"resourcesync serve --help"`},
		"unknown flag behind": {[]string{"serve", here, "--port"}, `"resourcesync serve --help"`},
		"flag without value":  {[]string{"serve", here, "--listen"}, `"resourcesync serve --help"`},
		"busy port":           {[]string{"serve", here, "--listen", busy.Addr().String()}, "give another address and port"},
		"no port":             {[]string{"serve", here, "--listen", "8080"}, "give another address and port"},
		"everywhere":          {[]string{"serve", here, "--listen", "0.0.0.0:0"}, "--base-url http://"},
		"relative base":       {[]string{"serve", here, "--base-url", "files.example.org"}, "such as https://"},
		"other scheme":        {[]string{"serve", here, "--base-url", "ftp://files.example.org/"}, "such as https://"},
		"no URL":              {[]string{"serve", here, "--base-url", "http://[/"}, "such as https://"},
		"query":               {[]string{"serve", here, "--base-url", "http://example.org/?"}, "leave out"},
		"fragment":            {[]string{"serve", here, "--base-url", "http://example.org/#top"}, "leave out"},
		"user":                {[]string{"serve", here, "--base-url", "http://me@example.org/"}, "leave out"},
		"encoded slash":       {[]string{"serve", here, "--listen", "127.0.0.1:0", "--base-url", "http://example.org/a%2Fb/"}, "encoded slash"},
		"braces":              {[]string{"serve", here, "--listen", "127.0.0.1:0", "--base-url", "http://example.org/{a}/"}, "with { or }"},
		"prefix upwards":      {[]string{"serve", here, "--prefix", "/a/../b"}, "such as /resourcesync/"},
		"odd prefix":          {[]string{"serve", here, "--prefix", "/a b/"}, "such as /resourcesync/"},
		"unknown hash":        {[]string{"serve", here, "--hash", "md5,crc32"}, "md5,sha-256"},
		"hash twice":          {[]string{"serve", here, "--hash", "md5,md5"}, "md5,sha-256"},
		"no hash":             {[]string{"serve", here, "--hash", ""}, "md5,sha-256"},
		"empty pages":         {[]string{"serve", here, "--page-size", "0"}, "1 to 50000"},
		"huge pages":          {[]string{"serve", here, "--page-size", "50001"}, "1 to 50000"},
		"empty packages":      {[]string{"serve", here, "--package-size", "0"}, "500MB or 4GiB"},
		"a short archive":     {[]string{"serve", here, "--archive", "30d"}, "--archive 30d: give --retain (90d) or more"},
		"versions of nothing": {[]string{"serve", here, "--keep-versions", "1d", "--dumps=false"}, "for dumps"},
		"versions by md5":     {[]string{"serve", here, "--keep-versions", "1d", "--hash", "md5"}, "sha-256"},
		"versions in tables":  {[]string{"serve", here, "--keep-versions", "1d", "--state", "postgres://localhost/x"}, "--versions /"},
		"a place for nothing": {[]string{"serve", here, "--versions", "v"}, "--keep-versions 30d"},
		"package of words":    {[]string{"serve", here, "--package-size", "big"}, `"resourcesync serve --help"`},
		"page of words":       {[]string{"serve", here, "--page-size", "many"}, `"resourcesync serve --help"`},
		"never rescan":        {[]string{"serve", here, "--rescan", "0s"}, "such as 30s"},
		"no header":           {[]string{"serve", here, "--client-header", "X-Forwarded-For:"}, "such as X-Forwarded-For"},
		"another header":      {[]string{"serve", here, "--client-header", "forwarded"}, "X-Real-IP"},
		"rescan without unit": {[]string{"serve", here, "--rescan", "5"}, `"resourcesync serve --help"`},
		"no window":           {[]string{"serve", here, "--window", "0s"}, "such as 1h"},
		"nothing retained":    {[]string{"serve", here, "--retain", "0d"}, "such as 48h"},
		"retained for words":  {[]string{"serve", here, "--retain", "ever"}, `"resourcesync serve --help"`},
		"log format":          {[]string{"serve", here, "--log-format", "xml"}, "text or json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), test.args, &stdout, &stderr)
			line, rest, ended := strings.Cut(stderr.String(), "\n")
			if status != 2 || stdout.Len() > 0 || !ended || rest != "" || !strings.HasPrefix(line, "resourcesync: ") {
				t.Errorf("status %d, stdout %q, stderr:\n%s", status, &stdout, &stderr)
			}
			if !strings.Contains(line, test.hint) {
				t.Errorf("does not say %q: %s", test.hint, line)
			}
		})
	}
}

// A process of its own ends with status 0 when it is told to, and takes
// requests until then.
func TestSignals(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "a.txt"), "a")
			p := startProcess(t, folder)
			description := p.stdout.await(`Source Description: (\S+)`)[1]
			if res, _ := p.get(description); res.StatusCode != 200 {
				t.Errorf("%s: %s", description, res.Status)
			}
			must(t, p.Process.Signal(signal))
			if err := p.Wait(); err != nil {
				t.Errorf("%v\n%s", err, p.stderr)
			}
		})
	}
}

// What cannot begin is told of by a process, too, with its status.
func TestRefusalOfAProcess(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program, "serve", filepath.Join(t.TempDir(), "none"))
	cmd.Env = append(os.Environ(), beMain+"=1")
	if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%v", err)
	}
}
