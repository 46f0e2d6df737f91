package versions

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestPruneFullDisk checks that old copies are removed, and free space, on a full disk.
func TestPruneFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		needs.Skip(t, "only root can mount a disk:", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	s := open(t, disk)
	must(t, s.writeSince(time.Now().Add(-30*time.Hour)))
	old := string(bytes.Repeat([]byte("old"), 100_000))
	must(t, keep(s, old))
	place, _ := s.pathOf(hashOf(old))
	then := time.Now().Add(-28 * time.Hour)
	must(t, os.Chtimes(place, then, then))
	filler := bytes.Repeat([]byte{1}, 2<<20)
	if err := os.WriteFile(filepath.Join(disk, "filler"), filler, 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	if err := keep(s, "new"); err == nil {
		t.Fatal("the disk is not full")
	}
	must(t, s.Prune(t.Context()))
	must(t, keep(s, "new"))
	if since, err := open(t, disk).Since(t.Context()); err != nil || since.Before(time.Now().Add(-3*time.Hour)) {
		t.Errorf("since %v, %v", since, err)
	}
}
