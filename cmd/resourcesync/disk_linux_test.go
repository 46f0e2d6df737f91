package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountTmpfs mounts a small disk of its own, for which it needs to be root.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	path := t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, options); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(path, syscall.MNT_DETACH)) })
	return path
}

// fill leaves no room on the disk at path until the file that it returns is
// removed.
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

// When the disk with the state is full, that is told of and what is listed stays
// to be had; when there is room again, all that has happened is told of.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := mountTmpfs(t, "size=2m")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "first"), "")
	s := startReady(t, folder, "--state", filepath.Join(disk, "state.db"), "--rescan", "1s")
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
	s.stderr.await(`level=ERROR msg="scan failed.*full`)
	healthz(503)
	s.stderr.await(`level=ERROR msg="not well"`)
	if listed := s.listed(); !strings.HasSuffix(listed, "first") {
		t.Errorf("listed: %.1000s", listed)
	}

	must(t, os.Remove(filler))
	if got := s.awaitChanges(files); len(got) != files {
		t.Errorf("%d changes, want %d", len(got), files)
	}
	s.until("well again", func() bool {
		res, _ := s.get("resourcesync/healthz")
		return res.StatusCode == 200
	})
}

// A state on a disk that cannot be written to is refused, a new one and one that
// is there.
func TestReadOnlyDisk(t *testing.T) {
	disk := mountTmpfs(t, "size=4m")
	state := filepath.Join(disk, "state.db")
	folder := sampleFolder(t)
	for range 2 {
		must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		if line := refused(t, folder, "--state", state); !strings.Contains(line, "give another file with --state") {
			t.Error(line)
		}
		must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""))
		startReady(t, folder, "--state", state).stop()
	}
}
