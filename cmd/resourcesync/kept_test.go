package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// confirm runs confirm-deletions beside a serve, and returns its output.
func confirm(t *testing.T, folder, state string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"confirm-deletions", folder, "--state", state, "--base-url", publicURL}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	return stdout.String()
}

// TestD10_MassDeletion removes most files of a folder. The deletions are held, over a
// restart, until they are confirmed. New files are still published.
func TestD10_MassDeletion(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for kind, newState := range states {
		t.Run(kind, func(t *testing.T) {
			folder, state := filepath.Join(t.TempDir(), "folder"), newState(t)
			for i := range 10 {
				write(t, filepath.Join(folder, "many", fmt.Sprint(i)), "a")
			}
			write(t, filepath.Join(folder, "one"), "a")
			flags := []string{"--state", state, "--base-url", publicURL, "--status", "127.0.0.1:0"}
			s := startReady(t, folder, flags...)
			away := filepath.Join(t.TempDir(), "away")
			must(t, os.Rename(filepath.Join(folder, "many"), away))
			s.stderr.await(`deletions are held: too many resources are missing" resources=10 of=11`)
			s.write("new", "b")
			if got := s.awaitChanges(1); got[0] != "created new" {
				t.Errorf("while deletions are held: %q", got)
			}
			check := func(s *served) {
				t.Helper()
				code, now := s.toldOperators()
				if code != 503 || now.Held == nil || now.Held.Files != 10 || now.Held.Until.Sub(now.Held.Since) != time.Hour || !strings.Contains(strings.Join(now.Problems, " "), "Is everything in the folder "+folder) || !strings.Contains(strings.Join(now.Problems, " "), "confirm-deletions") {
					t.Errorf("%d %+v, %q", code, now.Held, now.Problems)
				}
				if res, body := s.get("resourcesync/healthz"); res.StatusCode != 503 || !strings.Contains(body, "deletions are held\nresourcesync confirm-deletions publishes them; the status page has the numbers\n") {
					t.Errorf("%s %q", res.Status, body)
				}
			}
			check(s)
			s.stop()
			s = startReady(t, folder, flags...)
			s.stderr.await("deletions are held")
			check(s)
			var stdout bytes.Buffer
			command := s.shownCommand("Is everything in the folder " + folder + ", and is its volume mounted?")
			if code := run(t.Context(), command, &stdout, io.Discard); code != 0 || !strings.HasPrefix(stdout.String(), "Confirmed: the next scan publishes the deletions of 10 resources") {
				t.Errorf("%q: %d, told %q", command, code, &stdout)
			}
			s.awaitChanges(11)
			s.until("the process is healthy", func() bool {
				code, now := s.toldOperators()
				return code == 200 && now.Held == nil
			})
			if got := confirm(t, folder, state); got != "No deletions are held.\n" {
				t.Errorf("told %q", got)
			}

			// A rename is not a deletion, after any number of scans.
			must(t, os.Rename(away, filepath.Join(folder, "back")))
			s.awaitChanges(21)
			must(t, os.Rename(filepath.Join(folder, "back"), filepath.Join(folder, "elsewhere")))
			s.awaitChanges(41)
		})
	}
}

// TestD10_NotMounted empties a folder while no process runs. Its files stay listed
// until they are back, or until their deletion is confirmed.
func TestD10_NotMounted(t *testing.T) {
	t.Parallel()
	folder, state := filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "state.db")
	write(t, filepath.Join(folder, "a.txt"), "a")
	flags := []string{"--state", state, "--base-url", publicURL}
	startReady(t, folder, flags...).stop()
	must(t, os.Rename(folder, folder+" elsewhere"))
	must(t, os.Mkdir(folder, 0o755))
	s := startReady(t, folder, flags...)
	s.stderr.await("deletions are held")
	if got := s.listed(); got != "a.txt" {
		t.Errorf("listed %q", got)
	}
	s.stop()
	s = startReady(t, folder, append(flags, "--max-delete", "100%")...)
	if got := s.awaitChanges(1); got[0] != "deleted a.txt" {
		t.Errorf("changes: %q", got)
	}
}

// TestD10_HoldEnds publishes held deletions when their time is over and no file has
// come back, not before, and without any event that would cause a scan.
func TestD10_HoldEnds(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	s := startReady(t, folder, "--max-delete-hold", "1s", "--rescan", "1h")
	removed := time.Now()
	must(t, os.Remove(filepath.Join(folder, "a.txt")))
	s.awaitChanges(1)
	deleted, err := time.Parse(time.RFC3339Nano, s.list("changelist")[0].Metadata.Datetime)
	must(t, err)
	if held := deleted.Sub(removed); held < time.Second {
		t.Errorf("deleted after %v", held)
	}
}

// TestD10_CreatedAndGone fills a folder with new files and takes it away again. They
// were published as created, so their deletions are held like any others.
func TestD10_CreatedAndGone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "one"), "a")
	s := startReady(t, folder)
	for i := range 40 {
		write(t, filepath.Join(folder, "many", fmt.Sprint(i)), "a")
	}
	s.awaitChanges(40)
	must(t, os.Rename(filepath.Join(folder, "many"), filepath.Join(t.TempDir(), "away")))
	s.stderr.await(`deletions are held: too many resources are missing" resources=40 of=41`)
	if got := s.changes(); len(got) != 40 {
		t.Errorf("changes: %q", got)
	}
}

func TestD10_ConfirmWhat(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ want, args string }{
		{"no set given; give the arguments of the server", ""},
		{"there is no state", folder + " --state " + filepath.Join(t.TempDir(), "state.db")},
		{"give the --base-url", folder + " --state postgres://localhost/none"},
		{"give the --base-url", "--upstream http://127.0.0.1"},
		{"give the --base-url", "--upstream http://127.0.0.1 --state postgres://localhost/none"},
		{"there is no state", "--upstream http://127.0.0.1 --state " + filepath.Join(t.TempDir(), "state.db")},
		{"there is no state", "oai http://127.0.0.1/oai --state " + filepath.Join(t.TempDir(), "state.db")},
		{"--rate is a flag of proxy, oai or replica; give the command first", "--rate 1"},
		{"no command has all these flags: --upstream, --set", "--upstream http://127.0.0.1 --set a"},
		{"give a percentage", folder + " --max-delete 25"},
		{"give a percentage", folder + " --max-delete NaN%"},
		{`--max-delete-hold "-1h"`, folder + " --max-delete-hold=-1h"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"confirm-deletions"}, strings.Fields(test.args)...), io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: %d %s", test.args, status, &stderr)
		}
	}
}

// TestConfirmUnknownSet: the name of a set that the state does not have is refused, the
// error names the sets that it has, and no set is created.
func TestConfirmUnknownSet(t *testing.T) {
	t.Parallel()
	folder, state := t.TempDir(), filepath.Join(t.TempDir(), "state.db")
	write(t, filepath.Join(folder, "a.txt"), "a")
	startReady(t, folder, "--state", state).stop()
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, fmt.Sprintf("base-url: %s\nstate: %s\nsets: [{name: papers, kind: folder, folder: %s}]\n", publicURL, state, folder))
	for _, test := range []struct{ args, want string }{
		{"oai http://127.0.0.1/oai --state " + state, `there is no set "records" (of oai); the sets are: "files" (of serve)`},
		{"--upstream http://127.0.0.1 --state " + state, `there is no set "pages" (of proxy); the sets are: "files" (of serve)`},
		{"--config " + file, `there is no set "papers"; the sets are: "files" (of serve)`},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"confirm-deletions"}, strings.Fields(test.args)...), io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: %d %s", test.args, status, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"confirm-deletions", folder, "--state", state}, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "No deletions are held") {
		t.Errorf("%d %s %s", status, &stdout, &stderr)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	sql(t, other, "CREATE TABLE mine (name TEXT)")
	if status := run(t.Context(), []string{"confirm-deletions", folder, "--state", other}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "a database of another program") {
		t.Errorf("%d %s", status, &stderr)
	}
}
