package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// The summary after the first scan has URLs that work, and the number of files.
func TestReady(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--status", "127.0.0.1:0")
	s.stdout.await(`Status .*\n`)
	want := regexp.MustCompile(strings.ReplaceAll(`^Ready: 14 files are listed\.

  Site     (SITE)
  Source   (SITE\.well-known/resourcesync)
  List     (SITEresourcesync/resourcelist\.xml)
  Harvest  resourcesync mirror SITE copy
  Status   (http://127\.0\.0\.1:\d+/)
$`, "SITE", regexp.QuoteMeta(s.site)))
	said := want.FindStringSubmatch(s.stdout.String())
	if said == nil {
		t.Fatalf("%q, want %s", s.stdout, want)
	}
	for _, url := range []string{said[1] + "index.html", said[4]} {
		if res, _ := s.get(url); res.StatusCode != 200 {
			t.Errorf("%s: %s", url, res.Status)
		}
	}
	s.document(said[2], "description")
	if n := len(s.document(said[3], "resourcelist").Entries); n != len(sampleFiles) {
		t.Errorf("%d files listed", n)
	}
}

// On a terminal, the log is for people, and the summary has colours; NO_COLOR and TERM
// turn them off.
func TestTerminal(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	program, err := os.Executable()
	must(t, err)
	for name, test := range map[string]struct {
		env       []string
		log, said string
	}{
		"colours":    {[]string{"TERM=xterm", "NO_COLOR="}, "\x1b\\[2m\\d\\d:\\d\\d:\\d\\d\x1b\\[0m INFO  listening  \x1b\\[2maddress=127", "\x1b\\[32mReady:\x1b\\[0m 1 file is listed"},
		"no colours": {[]string{"TERM=xterm", "NO_COLOR=1"}, `\d\d:\d\d:\d\d INFO  listening  address=127`, `Ready: 1 file is listed`},
		"dumb":       {[]string{"TERM=dumb", "NO_COLOR="}, `time=\S+ level=INFO msg=listening address=127`, `Ready: 1 file is listed`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "serve", "--listen", "127.0.0.1:0", "--state", filepath.Join(t.TempDir(), "state.db"), folder)
			cmd.Env = append(append(os.Environ(), beMain+"=1"), test.env...)
			f, err := pty.Start(cmd)
			must(t, err)
			defer f.Close()
			seen := newOutput(t)
			go io.Copy(seen, f)
			seen.await(test.log)
			seen.await(test.said)
			if name != "colours" && strings.Contains(strings.ReplaceAll(seen.String(), eraseLine, ""), "\x1b") {
				t.Errorf("%q", seen)
			}
			must(t, cmd.Process.Signal(os.Interrupt))
			must(t, cmd.Wait())
		})
	}
}
