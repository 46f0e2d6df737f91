package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestMirrorDiskFull has a disk with room for one of two resources. When the Source has deleted the
// other one, the copy becomes complete, because the failed runs have left no files behind.
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
		mirrorToFullDisk(t, s, dir)
	}
	must(t, os.Remove(filepath.Join(folder, "large")))
	s.until("the deletion is listed", func() bool { return slices.Contains(s.changes(), "deleted large") })
	// The first run may have no room to note the deletion, and removes the partial downloads. If the copy has the large
	// resource, and not the last one, another run makes room.
	runMirror(t, s.site, dir)
	runMirror(t, s.site, dir)
	if status, _, stderr := runMirror(t, s.site, dir); status != 0 {
		t.Fatalf("status %d: %s\n%q", status, stderr, s.changes())
	}
	awaitCopy(t, s, dir)
}

// mirrorToFullDisk runs a mirror that needs more room than there is. It must say so, and leave no temporary files.
func mirrorToFullDisk(t *testing.T, s *served, dir string) {
	t.Helper()
	status, _, stderr := runMirror(t, s.site, dir)
	if status != 1 || !strings.Contains(stderr, " of the copy is full: make room") { // the disk of the copy, or of the state of the copy
		t.Errorf("status %d: %s", status, stderr)
	}
	if names, _ := os.ReadDir(filepath.Join(dir, ".resourcesync/tmp")); len(names) > 0 {
		t.Errorf("%d temporary files stay", len(names))
	}
}

// TestMirrorDeletionMakesRoom: a deletion makes room on a full disk, or within --max-size, for a resource whose change is
// before it.
func TestMirrorDeletionMakesRoom(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	disk := mountTmpfs(t, "size=4m")
	for name, test := range map[string]struct {
		dir  string
		args []string
		full string
	}{
		"disk":     {filepath.Join(disk, "copy"), nil, " of the copy is full: make room"},
		"max-size": {t.TempDir(), []string{"--max-size", "3000000"}, "the copy would have more than 3000000 bytes with "},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, filepath.Join(folder, "former"), strings.Repeat("0123456789", 250_000))
			s := startReady(t, folder)
			args := append([]string{s.site, test.dir}, test.args...)
			if status, _, stderr := runMirror(t, args...); status != 0 {
				t.Fatalf("status %d: %s", status, stderr)
			}
			s.write("next", strings.Repeat("0123456789", 200_000))
			s.awaitChanges(1)
			if status, _, stderr := runMirror(t, args...); status != 1 || !strings.Contains(stderr, test.full) {
				t.Errorf("without room: status %d: %s", status, stderr)
			}
			must(t, os.Remove(filepath.Join(folder, "former")))
			s.awaitChanges(2)
			for range 2 {
				runMirror(t, args...)
			}
			if status, _, stderr := runMirror(t, args...); status != 0 {
				t.Errorf("after the deletion: status %d: %s", status, stderr)
			}
			awaitCopy(t, s, test.dir)
		})
	}
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
