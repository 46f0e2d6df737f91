package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/browsertest"
)

// TestPagesInBrowser: the pages of folders and of the status are accessible, and fit on a phone.
func TestPagesInBrowser(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 250 {
		write(t, filepath.Join(folder, fmt.Sprintf("file-%03d.txt", i)), "text")
	}
	write(t, filepath.Join(folder, "sub", "a.txt"), "text")
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--client-header", "X-Forwarded-For")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "a harvester", "")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "Mozilla/5.0 (compatible; LibraryHarvester/1.0; +https://library.example.org/about/harvesters)", "")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "ExampleUniversityLibraryHarvester/1.0 (name=NationalAndUniversityLibraryOfExamplelandRepositoryMirror)", "")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "ExampleUniversityLibraryHarvester/1.0", "")
	s.getAs(s.site+"resourcesync/resourcelist.xml", strings.Repeat("Harvester", 12), "")
	for _, address := range []string{"192.0.2.1", "2001:db8:1:2::7"} { // the second one is marked
		req, err := http.NewRequest("GET", s.site+"resourcesync/changelist.xml", nil)
		must(t, err)
		req.Header.Set("User-Agent", "resourcesync (name=library-berlin)")
		req.Header.Set("X-Forwarded-For", address)
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		res.Body.Close()
	}
	browsertest.Check(t,
		browsertest.Page{Name: "folder", URL: s.site},
		browsertest.Page{Name: "folder-search", URL: s.site + "?q=a"},
	)
	browsertest.Check(t, browsertest.Page{Name: "status", URL: s.stderr.await(`status for operators.* url=(\S+)`)[1]})
}
