package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/oaitest"
)

// startOAI publishes the repository at url.
func startOAI(t *testing.T, url, state string, flags ...string) *served {
	t.Helper()
	s := &served{t: t, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	args := append([]string{"oai", "--listen", "127.0.0.1:0", "--state", state, "--rate", "1000", url}, flags...)
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, s.stdout, s.stderr) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, s.stderr)
		}
	})
	t.Cleanup(s.stop)
	s.awaitListening()
	return s
}

// TestOAI publishes a repository, mirrors it, changes it, and reports the change by a
// ping.
func TestOAI(t *testing.T) {
	t.Parallel()
	repository := oaitest.New("", 0, time.Time{})
	server := httptest.NewServer(repository)
	defer server.Close()
	repository.Fill(server.URL, 120, time.Now().Add(-24*time.Hour))
	state, copied := filepath.Join(t.TempDir(), "state.db"), filepath.Join(t.TempDir(), "copy")
	s := startOAI(t, server.URL+"/oai", state, "--rescan", "1h", "--ping-token", "secret", "--status", "127.0.0.1:0")
	s.stdout.await("Ready: 120 records are listed.")
	mirror := func(flags ...string) {
		t.Helper()
		if status, out, errs := runMirror(t, append([]string{s.site, copied, "--allow-addresses", "127.0.0.0/8"}, flags...)...); status != 0 {
			t.Fatalf("mirror: status %d\n%s%s", status, out, errs)
		}
	}
	mirror()
	mirror("--audit")

	repository.Put(oaitest.Record{Identifier: "oai:repo.example:new", Datestamp: time.Now(), Title: "New", Identifiers: []string{server.URL + "/record/new"}})
	repository.Delete("oai:repo.example:7")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.site+"resourcesync/ping", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer secret")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	res.Body.Close()
	s.until("the changes are listed", func() bool {
		_, list := s.get(s.site + "resourcesync/changelist.xml")
		return strings.Contains(list, "/record/new<") && strings.Contains(list, `change="deleted"`)
	})
	mirror()
	mirror("--audit")
	if _, now := s.toldOperators(); !now.Healthy || now.Repository == nil || now.Repository.Name != "Test Repository" {
		t.Errorf("the status is %+v", now)
	}
	s.stop()

	// The next start requests only changes, and another repository is refused.
	repository.Requests()
	s = startOAI(t, server.URL+"/oai", state)
	s.stdout.await("Ready: 120 records are listed.")
	s.until("the repository has been asked", func() bool {
		for _, q := range repository.Requests() {
			if strings.Contains(q, "&from=") {
				return true
			}
			if strings.Contains(q, "ListRecords") {
				t.Fatalf("a restart requests %q", q)
			}
		}
		return false
	})
	s.stop()
	var errs strings.Builder
	if status := run(t.Context(), []string{"oai", "--state", state, "--listen", "127.0.0.1:0", server.URL + "/other"}, &errs, &errs); status != 2 || !strings.Contains(errs.String(), "--moved") {
		t.Errorf("the state of another repository: status %d, %s", status, &errs)
	}
}
