package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExclude follows a folder over restarts. A new state excludes unwanted files. Files that are
// already listed stay until --exclude is given; these deletions pass the guard, and others do not.
func TestExclude(t *testing.T) {
	t.Parallel()
	for kind, newState := range states {
		t.Run(kind, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "folder")
			for _, key := range []string{"a.txt", "b.txt", "c.txt", "d.txt", "Thumbs.db", "~$a.docx", "x.tmp", "y.tmp", "drafts/d.txt", "sub/drafts"} {
				write(t, filepath.Join(folder, key), key)
			}
			const files, drafts, rubbish = "a.txt b.txt c.txt d.txt", "drafts/d.txt", "x.tmp y.tmp ~$a.docx"
			state := newState(t)
			restart := func(want string, flags ...string) *served {
				t.Helper()
				s := startReady(t, folder, append(flags, "--state", state, "--base-url", publicURL, "--rescan", "1s")...)
				s.until("the files are listed: "+want, func() bool { return s.listed() == want })
				return s
			}
			all := strings.Join([]string{"Thumbs.db", files, drafts, "sub/drafts", rubbish}, " ")
			clean := strings.Join([]string{files, drafts, "sub/drafts"}, " ")

			s := restart(clean)
			for _, key := range []string{"Thumbs.db", "~$a.docx", "x.tmp"} {
				if res, _ := s.get(key); res.StatusCode != 404 {
					t.Errorf("%s: %s", key, res.Status)
				}
			}
			s.write("new.tmp", "") // no event lists it
			s.write("new", "")
			if got := s.awaitChanges(1); !slices.Equal(got, []string{"created new"}) {
				t.Errorf("changes %q", got)
			}
			must(t, os.Remove(filepath.Join(folder, "new")))
			must(t, os.Remove(filepath.Join(folder, "new.tmp")))
			s.awaitChanges(2)
			s.stop()

			state = newState(t)
			restart(all, "--exclude", "none").stop()
			s = restart(all) // nobody has asked for deletions
			s.stop()

			s = restart(files+" sub/drafts", "--exclude", "litter", "--exclude", "drafts/")
			if res, body := s.get("resourcesync/healthz"); res.StatusCode != 200 {
				t.Errorf("healthz: %s %s", res.Status, body)
			}
			for _, change := range []string{"deleted Thumbs.db", "deleted ~$a.docx", "deleted x.tmp", "deleted y.tmp", "deleted drafts/d.txt"} {
				if !slices.Contains(s.changes(), change) {
					t.Errorf("%q lack %q", s.changes(), change)
				}
			}
			for _, key := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
				must(t, os.Remove(filepath.Join(folder, key)))
			}
			s.stderr.await("deletions are held: too many resources are missing")
			s.stop()

			// The unwanted files stay excluded without the flag; the draft is a new
			// file.
			s = restart(files + " " + drafts + " sub/drafts")
			if res, _ := s.get("resourcesync/healthz"); res.StatusCode != 503 {
				t.Errorf("healthz: %s", res.Status)
			}
		})
	}
}

// TestExcludeReload: a reloaded file has other patterns.
func TestExcludeReload(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	for _, key := range []string{"a.txt", "b.bak", "c.bak", "d.bak"} {
		write(t, filepath.Join(at, "folder", key), key)
	}
	file := filepath.Join(at, "site.yaml")
	text := "listen: 127.0.0.1:0\nstate: " + filepath.Join(at, "state.db") + "\nsets:\n- kind: folder\n  folder: " + filepath.Join(at, "folder") + "\n"
	write(t, file, text)
	p := startRun(t, file)
	listed := func(want string) {
		t.Helper()
		p.until("the files are listed: "+want, func() bool {
			res, _ := p.get("resourcesync/resourcelist.xml")
			return res.StatusCode == 200 && p.listed() == want
		})
	}
	listed("a.txt b.bak c.bak d.bak")
	p.reload(file, text+"  exclude: [litter, '*.bak']\n", "configuration reloaded")
	listed("a.txt")
	p.reload(file, text+"  exclude: ['a*']\n", "configuration reloaded")
	listed("b.bak c.bak d.bak")
	if res, _ := p.get("a.txt"); res.StatusCode != 404 {
		t.Errorf("a.txt: %s", res.Status)
	}
}
