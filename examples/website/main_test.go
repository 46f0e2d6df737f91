package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

func TestMain(m *testing.M) {
	tour.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

// TestWebsite follows a write that passes through the program into the Change List.
func TestWebsite(t *testing.T) {
	s := tour.StartProgram(t, t.TempDir())
	s.Await("/resourcesync/resourcelist.xml", s.URL+"/page")
	req, err := http.NewRequest("PUT", s.URL+"/page", strings.NewReader("Hello again."))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	s.Await("/resourcesync/changelist.xml", `change="updated"`, s.URL+"/page", `length="12"`)
}
