package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMirrorDiskFull has a disk with room for one of two resources. When the Source has deleted the
// other one, the copy is complete after two runs, because the failed ones have left no files
// behind.
func TestMirrorDiskFull(t *testing.T) {
	t.Parallel()
	disk := mountTmpfs(t, "size=4m")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "fits"), strings.Repeat("0123456789", 100_000))
	s := startReady(t, folder)
	dir := filepath.Join(disk, "copy")
	if status, _, stderr := runMirror(t, s.site, dir); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	s.write("large", strings.Repeat("0123456789", 300_000))
	s.write("last", strings.Repeat("0123456789", 100_000))
	s.awaitChanges(2)
	for range 2 {
		status, _, stderr := runMirror(t, s.site, dir)
		if status != 1 || !strings.Contains(stderr, " of the copy is full: make room") /* or that of its state */ {
			t.Errorf("status %d: %s", status, stderr)
		}
		if names, _ := os.ReadDir(filepath.Join(dir, ".resourcesync/tmp")); len(names) > 0 {
			t.Errorf("%d temporary files stay", len(names))
		}
	}
	must(t, os.Remove(filepath.Join(folder, "large")))
	s.until("the deletion is listed", func() bool { return slices.Contains(s.changes(), "deleted large") })
	runMirror(t, s.site, dir) // removes the partial download of a resource that no longer exists
	if status, _, stderr := runMirror(t, s.site, dir); status != 0 {
		t.Fatalf("status %d: %s\n%q", status, stderr, s.changes())
	}
	awaitCopy(t, s, dir)
}

// TestMirrorStateDiskFull: if the disk has no room for the state of a copy, the error says so, and
// not that the Source lists too much.
func TestMirrorStateDiskFull(t *testing.T) {
	t.Parallel()
	disk := mountTmpfs(t, "size=4m")
	folder := t.TempDir()
	for i := range 40 {
		write(t, filepath.Join(folder, fmt.Sprint(i)), "text")
	}
	s := startReady(t, folder)
	fill := filepath.Join(disk, "fill")
	write(t, fill, strings.Repeat("0", 4<<20-128<<10))
	dir := filepath.Join(disk, "copy")
	if status, _, stderr := runMirror(t, s.site, dir); status != 1 || !strings.Contains(stderr, "the disk of the state of the copy is full: make room") {
		t.Errorf("status %d: %s", status, stderr)
	}
	must(t, os.Remove(fill))
	if status, _, stderr := runMirror(t, s.site, dir); status != 0 {
		t.Errorf("with room: status %d: %s", status, stderr)
	}
}
