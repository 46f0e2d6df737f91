package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
)

// TestD24_StateOfAnotherFolder: the state of another folder is refused, and no
// deletions are published. The state of a folder that has moved is accepted with
// --moved, and after that without it.
func TestD24_StateOfAnotherFolder(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	path := func(name string) string { return filepath.Join(in, name) }
	write(t, path("one/a.txt"), "a")
	write(t, path("other/b.txt"), "b")
	flags := []string{"--state", path("state.db"), "--base-url", publicURL}
	startReady(t, path("one"), flags...).stop()

	line := refused(t, path("other"), flags...)
	for _, part := range []string{path("state.db"), path("one"), path("other"), "--moved", "give another file with --state"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q is not in: %s", part, line)
		}
	}
	s := startReady(t, path("one"), flags...)
	if got := s.changes(); len(got) != 0 {
		t.Errorf("changes: %q", got)
	}
	s.stop()

	must(t, os.Rename(path("one"), path("moved")))
	refused(t, path("moved"), flags...)
	startReady(t, path("moved"), append([]string{"--moved"}, flags...)...).stop()
	s = startReady(t, path("moved"), flags...)
	if got := s.changes(); len(got) != 0 || !strings.Contains(s.listed(), "a.txt") {
		t.Errorf("changes: %q; listed: %s", got, s.listed())
	}
}

// TestD24_FolderBehindLinks: a folder keeps its identity behind another link, and a
// link keeps its identity when its target changes.
func TestD24_FolderBehindLinks(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	path := func(name string) string { return filepath.Join(in, name) }
	for i := range 2 {
		write(t, path(fmt.Sprintf("releases/%d/a.txt", i)), "a")
	}
	flags := []string{"--state", path("state.db")}
	link := func(name, to string) string {
		must(t, os.Symlink(path(to), path("next")))
		must(t, os.Rename(path("next"), path(name)))
		return path(name)
	}
	for _, folder := range []func() string{
		func() string { return link("current", "releases/0") },
		func() string { return link("current", "releases/1") },
		func() string { return path("releases/1") },
		func() string { return link("stable", "releases/1") },
	} {
		startReady(t, folder(), flags...).stop()
	}
	refused(t, path("releases/0"), flags...)

	startReady(t, path("current"), flags...).stop()
	// As many files as before, so that the guard against mass deletions is silent.
	write(t, path("releases/2/b.txt"), "b")
	line := refused(t, link("current", "releases/2"), append(flags, "--base-url", publicURL)...)
	for _, part := range []string{path("releases/1"), path("releases/2"), "shares no files with", "--moved"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q is not in: %s", part, line)
		}
	}
	s := startReady(t, path("current"), append(flags, "--moved")...)
	if got := s.list("resourcelist"); len(got) != 1 || s.key(got[0].Loc) != "b.txt" {
		t.Errorf("listed: %+v", got)
	}
}

// TestD24_StateOfEarlierVersion: a state without a record of its folder is accepted
// once, and then records the folder.
func TestD24_StateOfEarlierVersion(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	path := func(name string) string { return filepath.Join(in, name) }
	write(t, path("one/a.txt"), "a")
	write(t, path("other/a.txt"), "a")
	flags := []string{"--state", path("state.db")}
	startReady(t, path("one"), flags...).stop()
	sql(t, path("state.db"), "UPDATE rs_set SET origin = NULL")
	startReady(t, path("other"), flags...).stop()
	refused(t, path("one"), flags...)
}

// TestD24_HardLinks: only one process uses a state, under all names of its file.
func TestD24_HardLinks(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	path := func(name string) string { return filepath.Join(in, name) }
	must(t, os.Mkdir(path("links"), 0o755))
	folder := t.TempDir()
	s := startReady(t, folder, "--state", path("state.db"))
	must(t, os.Symlink(path("state.db"), path("links/symbolic.db")))
	if line := failing(t, exit.Failed, "serve", folder, "--listen", "127.0.0.1:0", "--state", path("links/symbolic.db")); !strings.Contains(line, "in use by another resourcesync") {
		t.Error(line)
	}
	must(t, os.Link(path("state.db"), path("links/hard.db")))
	if line := refused(t, folder, "--state", path("links/hard.db")); !strings.Contains(line, "2 names (hard links)") || !strings.Contains(line, "delete the other names") {
		t.Error(line)
	}
	left, err := filepath.Glob(path("links/*"))
	if must(t, err); !slices.Equal(left, []string{path("links/hard.db"), path("links/symbolic.db")}) {
		t.Errorf("left behind: %q", left)
	}
	s.stop()
	refused(t, folder, "--state", path("state.db"))
	must(t, os.Remove(path("links/hard.db")))
	startReady(t, folder, "--state", path("state.db"))
}
