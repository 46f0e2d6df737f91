package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/browsertest"
)

// TestPagesInBrowser: the pages of folders and of the status are accessible, and fit on a phone.
func TestPagesInBrowser(t *testing.T) {
	folder := t.TempDir()
	for i := range 250 {
		write(t, filepath.Join(folder, fmt.Sprintf("file-%03d.txt", i)), "text")
	}
	write(t, filepath.Join(folder, "sub", "a.txt"), "text")
	s := startReady(t, folder, "--status", "127.0.0.1:0")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "a harvester", "")
	browsertest.Check(t,
		browsertest.Page{Name: "folder", URL: s.site},
		browsertest.Page{Name: "folder-search", URL: s.site + "?q=a"},
	)
	browsertest.Check(t, browsertest.Page{Name: "status", URL: s.stderr.await(`status for operators.* url=(\S+)`)[1]})
}
