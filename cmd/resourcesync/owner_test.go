package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestOwnerNotRecorded: if the state does not accept the new location of a folder after a
// reload, the process keeps its connections and reports the problem. It updates the set as
// soon as the state accepts the record.
func TestOwnerNotRecorded(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folders := t.TempDir()
	write(t, filepath.Join(folders, "one/a.txt"), "a")
	write(t, filepath.Join(folders, "two/a.txt"), "a")
	write(t, filepath.Join(folders, "two/b.txt"), "b")
	file, state := filepath.Join(t.TempDir(), "site.yaml"), filepath.Join(t.TempDir(), "state.db")
	text := func(folder, more string) string {
		return fmt.Sprintf("listen: 127.0.0.1:0\nstate: %s\ndumps: false\nsets:\n  - {name: papers, kind: folder, folder: %s%s}\n", state, filepath.Join(folders, folder), more)
	}
	write(t, file, text("one", ""))
	p := startRun(t, file)
	p.stdout.await("Ready")
	client := newCrawler(t)
	health := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(needs.Patience); ; time.Sleep(20 * time.Millisecond) {
			body, status := client.get(p.site + "resourcesync/healthz")
			if status == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("healthz: %d %s\n%s", status, body, p.stderr)
			}
		}
	}
	health(http.StatusOK)

	sql(t, state, "CREATE TRIGGER full BEFORE UPDATE OF origin ON rs_set BEGIN SELECT RAISE(FAIL, 'no room'); END")
	p.reload(file, text("two", ", moved: true"), "configuration reloaded")
	p.stderr.await(`level=ERROR msg="cannot record the origin of the set.*make room on its disk" set=papers error=.*no room`)
	health(http.StatusServiceUnavailable)
	client.crawl(p.site+".well-known/resourcesync", "")
	if got := p.listed(); got != "a.txt" {
		t.Errorf("listed %q before the origin is recorded", got)
	}

	sql(t, state, "DROP TRIGGER full")
	p.stderr.await("origin of the set recorded")
	for deadline := time.Now().Add(needs.Patience); p.listed() != "a.txt b.txt"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("listed: %q\n%s", p.listed(), p.stderr)
		}
	}
	health(http.StatusOK)
	client.client.CloseIdleConnections() // the program closes them when it ends
	must(t, p.Process.Signal(os.Interrupt))
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr)
	}
	if log := p.stderr.String(); strings.Count(log, "level=ERROR") != 2 { // healthz logs it, too
		t.Error(log)
	}
}

// TestOwnerWebsite: serve refuses the state of proxy.
func TestOwnerWebsite(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://files.example.org/page</loc></url></urlset>`)
		case "/page":
			fmt.Fprint(w, "a page")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(upstream.Close)
	state := filepath.Join(t.TempDir(), "state.db")
	s := startProxy(t, upstream.URL, publicURL, "--state", state)
	s.stdout.await("Ready")
	s.stop()
	if line := refused(t, sampleFolder(t), "--base-url", publicURL, "--state", state); !strings.Contains(line, "it is the state of resourcesync proxy, with its pages") {
		t.Error(line)
	}
}
