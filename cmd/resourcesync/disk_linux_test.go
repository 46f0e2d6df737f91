package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// mountTmpfs mounts a small file system for the test. It needs root.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	path := t.TempDir()
	mounted(t, syscall.Mount("tmpfs", path, "tmpfs", 0, options))
	t.Cleanup(func() { must(t, syscall.Unmount(path, syscall.MNT_DETACH)) })
	return path
}

// remountReadOnly waits for processes that other tests start: each inherits our open files
// until it executes its program.
func remountReadOnly(t *testing.T, disk string) {
	t.Helper()
	err := error(syscall.EBUSY)
	for deadline := time.Now().Add(needs.Patience); errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		err = syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	must(t, err)
}

// mounted skips the test if err is not nil. In CI, it fails the test.
func mounted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		needs.Skip(t, "only root can mount a disk:", err)
	}
}

// fill fills the disk at path until the returned file is removed.
func fill(t *testing.T, path string) string {
	t.Helper()
	filler := filepath.Join(path, "filler")
	f, err := os.Create(filler)
	must(t, err)
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return filler
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// When the disk with the state is full, this is reported, and the lists stay
// available. When there is room again, all changes are published.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	disk := mountTmpfs(t, "size=2m")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "first"), "")
	s := startReady(t, folder, "--state", filepath.Join(disk, "state.db"), "--rescan", "1s", "--status", "127.0.0.1:0")
	healthz := func(status int) {
		t.Helper()
		if res, body := s.get("resourcesync/healthz"); res.StatusCode != status || strings.Contains(body, "full") {
			t.Errorf("%s %q, want %d", res.Status, body, status)
		}
	}
	healthz(200)
	filler := fill(t, disk)
	const files = 1000 // more than what the state has room for already
	for i := range files {
		write(t, filepath.Join(folder, fmt.Sprintf("%04d", i)), "")
	}
	s.stderr.await(`level=ERROR msg="scan failed; no deletions are recorded" error=.*the disk of the state \S+/state.db\S* is full: make room`)
	healthz(503)
	s.stderr.await(`level=ERROR msg=unhealthy`)
	if _, now := s.toldOperators(); !now.Scan.Failed || !slices.Equal(now.Problems, []string{"the disk of the state " + filepath.Join(disk, "state.db") + " is full: make room"}) {
		t.Errorf("operators see the scan %+v and the problems %q", now.Scan, now.Problems)
	}
	_, page := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], "Mozilla/5.0", "text/html")
	if !regexp.MustCompile(`(?s)Last scan</dt>.{0,80}failed.*Scans have failed since</dt>`).MatchString(page) {
		t.Errorf("the status page is\n%s", page)
	}
	if listed := s.listed(); !strings.HasSuffix(listed, "first") {
		t.Errorf("listed: %.1000s", listed)
	}

	must(t, os.Remove(filler))
	if got := s.awaitChanges(files); len(got) != files {
		t.Errorf("%d changes, want %d", len(got), files)
	}
	s.until("healthy again", func() bool {
		res, _ := s.get("resourcesync/healthz")
		return res.StatusCode == 200
	})
}

// When the system stops writing to the disk with the state, as it does after a disk
// error, this is reported, and the lists stay available. When the disk has been
// repaired, a restart publishes all changes, once. (A remount would be refused while
// files are open for writing.)
func TestDiskTurnsReadOnly(t *testing.T) {
	t.Parallel()
	image, disk := filepath.Join(t.TempDir(), "image"), t.TempDir()
	command := func(name string, args ...string) error {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", name, err, out)
		}
		return err
	}
	mount := func() error { return command("mount", "-o", "loop", image, disk) }
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 32<<20))
	mounted(t, command("mkfs.ext4", "-q", image))
	mounted(t, mount())
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })

	folder := t.TempDir()
	write(t, filepath.Join(folder, "first"), "")
	flags := []string{"--state", filepath.Join(disk, "state.db"), "--base-url", publicURL, "--rescan", "1s"}
	s := startReady(t, folder, flags...)
	s.write("second", "")
	s.awaitChanges(1)
	must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, "abort"))
	s.write("third", "")
	s.stderr.await(`level=ERROR msg="scan failed.*read-only file system`)
	if res, body := s.get("resourcesync/healthz"); res.StatusCode != 503 {
		t.Errorf("healthz: %s %q", res.Status, body)
	}
	s.stderr.await(`level=ERROR msg=unhealthy.*read-only file system`)
	if listed := s.listed(); listed != "first second" {
		t.Errorf("listed: %s", listed)
	}
	if got := s.changes(); !slices.Equal(got, []string{"created second"}) {
		t.Errorf("changes %q", got)
	}
	s.stop()
	// A process that another test starts inherits our open files until it executes its
	// program.
	s.until("unmounted", func() bool { return syscall.Unmount(disk, 0) == nil })
	must(t, mount())

	s = startReady(t, folder, flags...)
	if got := s.awaitChanges(2); !slices.Equal(got, []string{"created second", "created third"}) {
		t.Errorf("changes %q", got)
	}
	if res, body := s.get("resourcesync/healthz"); res.StatusCode != 200 {
		t.Errorf("healthz: %s %q", res.Status, body)
	}
}

// A state on a read-only disk is refused, both a new one and an existing one.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	disk := mountTmpfs(t, "size=4m")
	state := filepath.Join(disk, "state.db")
	folder := sampleFolder(t)
	for range 2 {
		remountReadOnly(t, disk)
		if line := refused(t, folder, "--state", state); !strings.Contains(line, "read-only file system; give another file with --state") {
			t.Error(line)
		}
		must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""))
		startReady(t, folder, "--state", state).stop()
	}
}
