package daemon

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// With another base URL, documents are not shown before they have the new URIs, and
// each file is then an update.
func TestBaseURLMoves(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644))
	}
	state := filepath.Join(t.TempDir(), "state.db")
	before, done := openPublication(t, "serve", folder, "--state", state, "--base-url", "http://example.org/old/")
	scanned(t, before)
	done()

	p, _ := openPublication(t, "serve", folder, "--state", state, "--base-url", "http://example.org/")
	set := p.members[0].Scanned
	status := func(path string) int {
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	paths := []string{"/resourcesync/readyz", "/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"}
	if set.Ready() {
		t.Error("ready before the scan")
	}
	for _, path := range paths {
		if got := status(path); got != 503 {
			t.Errorf("before the scan: %s: %d", path, got)
		}
	}

	scanned(t, p)
	for _, path := range paths {
		if got := status(path); got != 200 {
			t.Errorf("%s: %d", path, got)
		}
	}
	for r, err := range set.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		if !strings.HasPrefix(r.URI, "http://example.org/") || strings.Contains(r.URI, "/old/") {
			t.Errorf("listed: %s", r.URI)
		}
	}
	// Destinations know resources by URI: each file is deleted at the old one and
	// created at the new one.
	changes := map[resourcesync.ChangeType]int{}
	for change, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		must(t, err)
		if old := strings.Contains(change.Resource.URI, "/old/"); old != (change.Type == resourcesync.Deleted) {
			t.Errorf("%s %s", change.Type, change.Resource.URI)
		}
		changes[change.Type]++
	}
	if n := 3; changes[resourcesync.Deleted] != n || changes[resourcesync.Created] != n || len(changes) != 2 {
		t.Errorf("%v of %d files", changes, n)
	}
}
