package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestArticles writes, deletes and restores articles, and follows that into the lists, also over a
// restart.
func TestArticles(t *testing.T) {
	address := os.Getenv("RESOURCESYNC_TEST_MYSQL")
	if address == "" {
		needs.Skip(t, "RESOURCESYNC_TEST_MYSQL is not set")
	}
	server, err := sql.Open("mysql", address)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	name := fmt.Sprintf("gorm_%d", time.Now().UnixNano())
	if _, err := server.ExecContext(t.Context(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		t.Fatal(err)
	}
	defer server.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+name)
	dsn := address[:strings.LastIndex(address, "/")+1] + name
	file := filepath.Join(t.TempDir(), "articles.db")

	s := tour.StartScan(t, func(ctx context.Context, ln net.Listener) error { return run(ctx, ln, dsn, file) })
	do := func(method, slug, text string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/articles/"+slug, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("%s %s: %s", method, slug, res.Status)
		}
	}
	s.Await("/resourcesync/resourcelist.xml", `capability="resourcelist"`)
	do("PUT", "a", "one")
	do("PUT", "b", "two")
	s.Await("/resourcesync/changelist.xml", s.URL+"/articles/a", s.URL+"/articles/b", `change="created"`)
	do("DELETE", "a", "")
	s.Await("/resourcesync/changelist.xml", `change="deleted"`)
	s.Stop()
	s.Start()
	s.Await("/resourcesync/capabilitylist.xml", `capability="change-notification"`)
	do("PUT", "a", "back again")
	do("PUT", "b", "changed")
	s.Await("/resourcesync/changelist.xml", `change="updated"`)
	s.Await("/resourcesync/resourcelist.xml", s.URL+"/articles/a", s.URL+"/articles/b")
	s.Await("/articles/a", "back again")
}
