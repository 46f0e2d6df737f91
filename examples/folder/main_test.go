package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

// TestFolder follows files into the lists, also over a restart.
func TestFolder(t *testing.T) {
	folder, database := t.TempDir(), filepath.Join(t.TempDir(), "folder.db")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	example := func(ctx context.Context, ln net.Listener) error { return run(ctx, ln, folder, database) }
	write("a.txt", "a")
	write("gone.txt", "gone")

	s := tour.StartScan(t, example)
	s.Await("/resourcesync/resourcelist.xml", s.URL+"/a.txt", s.URL+"/gone.txt")
	s.Await("/resourcesync/capabilitylist.xml", `capability="resourcedump"`)
	write("b.txt", "b")
	s.Await("/resourcesync/changelist.xml", `change="created"`, s.URL+"/b.txt")
	s.Await("/b.txt", "b")
	s.Stop()

	if err := os.Remove(filepath.Join(folder, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.Await("/resourcesync/changelist.xml", s.URL+"/b.txt", s.URL+"/gone.txt", `change="deleted"`)
}
