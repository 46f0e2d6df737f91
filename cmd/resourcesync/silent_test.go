package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestSilent: if a website or repository does not answer, the log and the status say so, why, and
// what to do.
func TestSilent(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	t.Run("website", func(t *testing.T) {
		t.Parallel()
		p := startProxy(t, down.URL, "http://example.org/", "--status", "127.0.0.1:0")
		told := &served{t: t, stderr: p.stderr}
		told.reports("sitemap: robots.txt: the website " + down.URL + " does not answer (connection refused); start it, or correct its address (upstream)")
	})
	t.Run("repository", func(t *testing.T) {
		t.Parallel()
		s := startOAI(t, down.URL+"/oai", filepath.Join(t.TempDir(), "state.db"), "--status", "127.0.0.1:0")
		s.reports("oaipmh: the repository " + down.URL + "/oai does not answer (connection refused); start it, or correct its address")
	})
}

// reports waits until a scan has failed, and checks that the log and the status have the error.
func (s *served) reports(want string) {
	s.t.Helper()
	line := s.stderr.await(`scan failed; no deletions are recorded" error=.*`)[0]
	if _, now := s.toldOperators(); !strings.Contains(line, want) || len(now.Problems) != 1 || now.Problems[0] != want {
		s.t.Errorf("%s\n%q\nexpected %s", line, now.Problems, want)
	}
}
