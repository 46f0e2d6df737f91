package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

func TestMain(m *testing.M) {
	tour.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

// TestFolder follows files into the lists, even if the program is killed and starts again.
func TestFolder(t *testing.T) {
	current := t.TempDir()
	folder := filepath.Join(current, "docs")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "a")
	write("gone.txt", "gone")

	s := tour.StartProgram(t, current)
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
