package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/browsertest"
)

// TestCheckPage opens a report, which is a single file, in a browser.
func TestCheckPage(t *testing.T) {
	t.Parallel()
	status, page, stderr := runCheck(t, broken(t), "--format", "html")
	if status != 1 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/check.html" {
			t.Errorf("the page needs %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(page))
	}))
	t.Cleanup(s.Close)
	browsertest.Check(t, browsertest.Page{Name: "check", URL: s.URL + "/check.html"})
}
