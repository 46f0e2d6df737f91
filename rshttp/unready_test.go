package rshttp_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestD11_NotReadyIsLoggedOnce: repeated requests for a list that is not ready log one
// line.
func TestD11_NotReadyIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	set := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(status int) {
		t.Helper()
		for _, name := range []string{"resourcelist.xml", "changelist.xml", "capabilitylist.xml", "resourcelist.xml"} {
			w := httptest.NewRecorder()
			src.ServeHTTP(w, httptest.NewRequest("GET", "/resourcesync/"+name, nil))
			if w.Code != status && name != "capabilitylist.xml" {
				t.Errorf("%s: %d", name, w.Code)
			}
		}
	}
	for range 3 {
		poll(503)
	}
	if n := strings.Count(log.String(), "not ready yet"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
	if _, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {}); err != nil {
		t.Fatal(err)
	}
	poll(200)
	if n := strings.Count(log.String(), "not ready yet"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
}
