package main

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	// resourcesync turns an existing folder, website, repository, bucket or table into a
	// ResourceSync Source, so that others can copy it and stay in sync. It also copies and
	// checks Sources.
	//
	// Commands:
	//   serve DIR              publish the files of a folder
	//   proxy --upstream URL   publish a website by its sitemaps
	//   oai URL                publish the records of an OAI-PMH repository
	//   table --db DATABASE    publish a database table or view
	//   bucket s3://NAME       publish the objects of a bucket
	//   run FILE               publish the sets of a configuration file
	//   check-config FILE      check a configuration file
	//   build DIR              write the documents of a folder as files, for a web server
	//   confirm-deletions DIR  publish the deletions that a server holds
	//   status [ADDRESS]       print the status of a running server
	//   mirror URL DIR         copy a Source, and keep the copy up to date
	//   check URL|FILE         check a Source, a document or a package
	//   triggers               record the changes of a database table
	//   completion SHELL       print a completion script for bash, fish or zsh
	//   man                    print the manual page
	//   version                print the version of this program
	//
	// "resourcesync COMMAND --help" describes a command.
	//
	// The exit status is 0 on success, also after Ctrl-C or SIGTERM; 2 if the command line or
	// the configuration is wrong, so that another try does not help before it is corrected; and
	// 1 if a command could not run or has failed for another reason, such as a port in use or a
	// database that does not answer. "check" ends with 1 if there is an error or a broken
	// must, and with 2 if there is no verdict.
}

func TestHelp(t *testing.T) {
	help := map[string][][]string{
		"help":              {{"help"}, {"--help"}, {"-h"}},
		"serve":             {{"serve", ".", "--help"}},
		"confirm-deletions": {{"confirm-deletions", "--upstream", "http://127.0.0.1", "-h"}},
	}
	for _, c := range commands() {
		help[c.name] = append(help[c.name], []string{c.name, "--help"}, []string{c.name, "-h"})
	}
	for command, calls := range help {
		want, err := helpText(command)
		must(t, err)
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
	serveHelp := helpOfFlags(t, "serve", kindOf("serve").siteFlags())
	proxyHelp := helpOfFlags(t, "proxy", kindOf("proxy").siteFlags())
	for _, name := range []string{"run", "check-config"} {
		helpOfFlags(t, name, runFlags(name, new(string), new(siteConfig), new(setSettings)))
	}
	helpOfFlags(t, "mirror", mirrorFlags(new(mirrorConfig)))
	helpOfFlags(t, "check", checkFlags(new(checkConfig)))
	helpOfFlags(t, "triggers", triggersFlags(new(triggersConfig)))
	helpOfFlags(t, "status", queryFlags(new(queryConfig)))
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
	text, err := helpText(command)
	must(t, err)
	_, list, _ := strings.Cut(text, "\nFlags:\n")
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

// A command that cannot start prints one line with the remedy, and exits with status 2.
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
		"version of a flag":   {[]string{"version", "--verbose"}, `"resourcesync version --help"`},
		"manual of what":      {[]string{"man", "serve"}, "takes no arguments"},
		"no shell":            {[]string{"completion"}, "bash, fish, zsh"},
		"two shells":          {[]string{"completion", "bash", "zsh"}, "name one shell"},
		"another shell":       {[]string{"completion", "dash"}, "did you mean bash?"},
		"no folder":           {[]string{"serve"}, "no folder given"},
		"two folders":         {[]string{"serve", here, "--sitemap", "more"}, `"more" is one too many`},
		"missing folder":      {[]string{"serve", filepath.Join(here, "none\n")}, "there is no folder"},
		"a file":              {[]string{"serve", file}, "give the folder that it is in"},
		"below a file":        {[]string{"serve", filepath.Join(file, "x")}, "not a directory"},
		"unknown flag":        {[]string{"serve", "--port", "80", here}, `"resourcesync serve --help"`},
		"unknown flag behind": {[]string{"serve", here, "--port"}, `"resourcesync serve --help"`},
		"flag without value":  {[]string{"serve", here, "--listen"}, `"resourcesync serve --help"`},
		"no port":             {[]string{"serve", here, "--listen", "8080"}, "give an address and a port"},
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
		"access log":          {[]string{"serve", here, "--access-log", "access.log"}, "combined, json or none"},
		"two statuses":        {[]string{"status", "127.0.0.1:1", "127.0.0.1:2"}, "one too many"},
		"status of a file":    {[]string{"status", "file:///x"}, "such as 127.0.0.1:9090"},
		"status of nothing":   {[]string{"status", "http://"}, "such as 127.0.0.1:9090"},
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
			description := p.stdout.await(`Source +(\S+)`)[1]
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

// A process that cannot start exits with that status.
func TestRefusalOfAProcess(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program, "serve", filepath.Join(t.TempDir(), "none"))
	cmd.Env = append(os.Environ(), beMain+"=1")
	if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%v", err)
	}
}
