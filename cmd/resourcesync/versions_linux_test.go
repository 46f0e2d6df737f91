package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// When the disk with the copies is full, a change is published only if its version can
// be kept. All other changes are published, and the log and healthz report the problem.
// When there is room again, the server recovers by itself, and every published version
// is available.
func TestDiskFullOfVersions(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	disk := mountTmpfs(t, "size=1m")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a"), "first")
	write(t, filepath.Join(folder, "b"), "first")
	s := startReady(t, folder, "--state", filepath.Join(t.TempDir(), "state.db"), "--rescan", "1s",
		"--keep-versions", "1d", "--package-every", "1s", "--versions", filepath.Join(disk, "versions"))
	healthz := func(status int) bool {
		res, body := s.get("resourcesync/healthz")
		return res.StatusCode == status && !strings.Contains(body, "space")
	}
	s.write("a", "second")
	s.awaitChanges(1)
	if !healthz(200) {
		t.Error("not well before the disk is full")
	}
	filler := fill(t, disk)
	s.write("a", strings.Repeat("third", 2000))
	s.stderr.await(`level=ERROR msg="dir: incomplete scan" key=a error="copying it: .*no space left`)
	s.stderr.await(`level=ERROR msg="scan failed.*no space left`)
	s.until("unwell", func() bool { return healthz(503) })
	s.stderr.await(`level=ERROR msg=unhealthy.*no space left`)
	s.write("empty", "") // its copy takes no room
	want := []string{"updated second", "created "}
	if got := s.awaitChanges(2); len(got) != 2 {
		t.Errorf("told of %q", got)
	}
	s.awaitVersions(want)

	must(t, os.Remove(filler))
	want = append(want, "updated "+strings.Repeat("third", 2000))
	if got := s.awaitChanges(3); len(got) != 3 {
		t.Errorf("told of %q", got)
	}
	s.until("healthy again", func() bool { return healthz(200) })
	s.awaitVersions(want)
	unfinished, err := filepath.Glob(filepath.Join(disk, "versions", "new-*"))
	if must(t, err); len(unfinished) > 0 {
		t.Errorf("left behind: %v", unfinished)
	}
}
