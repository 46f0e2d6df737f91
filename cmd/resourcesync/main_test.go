package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

// beMain is an environment variable that makes the test binary run as the program, for
// tests with separate processes.
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
	return testmain.Run(m)
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
	//   replica URL            copy a Source, and publish the copies
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
	// the configuration is wrong, so a retry will not help until it is corrected; and
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
		want, err := helpText(command, false)
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

// The help shows the flags of a first use and names the others; --help-all explains each flag.
func TestHelpOfFlags(t *testing.T) {
	for _, c := range commands() {
		if c.catalog == nil || c.name == "confirm-deletions" {
			continue
		}
		short, all := outputOf(t, c.name, "--help"), outputOf(t, c.name, "--help-all")
		_, rest, _ := strings.Cut(all, "\nFlags:\n")
		for s := range c.catalog().Flags() {
			title := "  --" + s.Name + "\n        "
			if s.Text == "" || strings.TrimRight(s.Text, ".…") == s.Text || strings.Count(rest, title) != 1 {
				t.Errorf("%s --%s is not explained: %q", c.name, s.Name, s.Text)
			}
			if named := strings.Contains(short, " --"+s.Name); !named || strings.Contains(short, title) != (s.Group == "") {
				t.Errorf("%s --help: --%s is not shown as its group %q says", c.name, s.Name, s.Group)
			}
		}
		for line := range strings.Lines(c.catalog().Help(c.name, true)) {
			if len([]rune(line)) > 90 {
				t.Errorf("%s: the line is too long: %s", c.name, line)
			}
		}
		if first := strings.Count(short, "\n  --"); first > 16 {
			t.Errorf("%s --help explains %d flags", c.name, first)
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
		"version of what":     {[]string{"version", "serve"}, `unexpected argument "serve"`},
		"version of a flag":   {[]string{"version", "--verbose"}, `"resourcesync version --help"`},
		"manual of what":      {[]string{"man", "serve"}, `unexpected argument "serve"`},
		"no shell":            {[]string{"completion"}, "bash, fish, zsh"},
		"two shells":          {[]string{"completion", "bash", "zsh"}, "name one of the shells"},
		"another shell":       {[]string{"completion", "dash"}, "did you mean bash?"},
		"no folder":           {[]string{"serve"}, "no folder given"},
		"two folders":         {[]string{"serve", here, "--sitemap", "more"}, `unexpected argument "more"`},
		"missing folder":      {[]string{"serve", filepath.Join(here, "none\n")}, "there is no folder"},
		"a file":              {[]string{"serve", file}, "give the folder that it is in"},
		"below a file":        {[]string{"serve", filepath.Join(file, "x")}, "not a directory"},
		"unknown flag":        {[]string{"serve", "--root", here}, `"resourcesync serve --help"`},
		"unknown flag behind": {[]string{"serve", here, "--port"}, "unknown flag --port; did you mean --listen?"},
		"flag without value":  {[]string{"serve", here, "--listen"}, `"resourcesync serve --help"`},
		"no port":             {[]string{"serve", here, "--listen", "8080"}, "give an address and a port"},
		"everywhere":          {[]string{"serve", here, "--listen", "0.0.0.0:0"}, "--base-url http://"},
		"relative base":       {[]string{"serve", here, "--base-url", "files.example.org"}, `--base-url "files.example.org": must begin with http:// or https://`},
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
		"empty packages":      {[]string{"serve", here, "--package-size", "0"}, "give 1KiB or more"},
		"a short archive":     {[]string{"serve", here, "--archive", "30d"}, `--archive "30d": give --retain (90d) or more`},
		"versions of nothing": {[]string{"serve", here, "--keep-versions", "1d", "--dumps=false"}, "for dumps"},
		"versions by md5":     {[]string{"serve", here, "--keep-versions", "1d", "--hash", "md5"}, "sha-256"},
		"versions in tables":  {[]string{"serve", here, "--keep-versions", "1d", "--state", "postgres://localhost/x"}, "--versions /"},
		"a place for nothing": {[]string{"serve", here, "--versions", "v"}, "--keep-versions 30d"},
		"package of words":    {[]string{"serve", here, "--package-size", "big"}, `"resourcesync serve --help"`},
		"page of words":       {[]string{"serve", here, "--page-size", "many"}, `"resourcesync serve --help"`},
		"never rescan":        {[]string{"serve", here, "--rescan", "0s"}, "such as 30s"},
		"no header":           {[]string{"serve", here, "--client-header", "X-Forwarded-For:"}, "such as X-Forwarded-For"},
		"another header":      {[]string{"serve", here, "--client-header", "forwarded"}, "X-Real-IP"},
		"rescan without unit": {[]string{"serve", here, "--rescan", "5"}, `--rescan "5": give a time with its unit, such as 30m, 48h or 90d; "resourcesync serve --help"`},
		"no window":           {[]string{"serve", here, "--window", "0s"}, "such as 1h"},
		"nothing retained":    {[]string{"serve", here, "--retain", "0d"}, "such as 48h"},
		"retained for words":  {[]string{"serve", here, "--retain", "ever"}, `"resourcesync serve --help"`},
		"access log":          {[]string{"serve", here, "--access-log", "access.log"}, "combined, json or none"},
		"two statuses":        {[]string{"status", "127.0.0.1:1", "127.0.0.1:2"}, "unexpected argument"},
		"status of a file":    {[]string{"status", "file:///x"}, "such as 127.0.0.1:8081"},
		"status of nothing":   {[]string{"status", "http://"}, "such as 127.0.0.1:8081"},
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

// A separate process ends with status 0 when it is told to, and accepts requests until
// then.
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
