package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestD22_Refusals requests many documents that do not exist, under long paths,
// and hangs up in the middle of other responses.
func TestD22_Refusals(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	write(t, folder+"/a.txt", "a")
	p := startProcess(t, folder, "--hub", "own")
	p.stdout.await("Ready")
	before := len(p.stderr.String())
	requests := needs.Size(150, 1000)
	for i := range requests {
		path := fmt.Sprintf("resourcesync/changelist/%d.xml", i)
		if i%2 == 0 {
			path = "resourcesync/resourcelist/~" + strings.Repeat("x", 20_000) + ".xml"
		}
		if res, body := p.get(path); res.StatusCode < 400 || len(body) > 1000 {
			t.Fatalf("%s: %s, %d bytes", path[:20], res.Status, len(body))
		}
		res, err := http.Post(p.site+site.HubPath, "application/x-www-form-urlencoded", strings.NewReader("hub.mode="+strings.Repeat("x", 20_000)))
		must(t, err)
		res.Body.Close()
	}
	logged := p.stderr.String()[before:]
	if lines := strings.Count(logged, "\n"); lines > 100 || len(logged) > 100_000 {
		t.Errorf("%d lines, %d bytes for %d requests:\n%.3000s", lines, len(logged), 2*requests, logged)
	} else {
		t.Logf("%d lines, %d bytes for %d requests", lines, len(logged), 2*requests)
	}
}
