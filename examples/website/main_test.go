package main

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

// TestWebsite follows a write that passes through the program into the Change List.
func TestWebsite(t *testing.T) {
	database := filepath.Join(t.TempDir(), "website.db")
	s := tour.StartScan(t, func(ctx context.Context, ln net.Listener) error { return run(ctx, ln, database) })
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
