package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

func TestMain(m *testing.M) { tour.Main(m, main) }

// The site's own middleware sees all requests, including those for documents.
func TestTour(t *testing.T) {
	s := tour.Start(t)
	s.Take("/articles/1", "/articles/2")
	log := s.Stop()
	for _, path := range []string{"/articles/1", "/.well-known/resourcesync", "/resourcesync/changelist.xml"} {
		if !strings.Contains(log, s.URL+path+" ") {
			t.Errorf("%s is not in the access log:\n%s", path, log)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := tour.Start(t)
	for _, test := range []struct {
		method, id, body string
		status           int
	}{
		{"PUT", "1", "not JSON", http.StatusBadRequest},
		{"PUT", "1", `{"text": "` + strings.Repeat("x", 1<<20) + `"}`, http.StatusBadRequest},
		{"PUT", "one", `{}`, http.StatusNotFound},
		{"GET", "1", "", http.StatusNotFound},
		{"DELETE", "1", "", http.StatusNoContent}, // as it should be
	} {
		if res, _ := s.Do(test.method, "/articles/"+test.id, test.body); res.StatusCode != test.status {
			t.Errorf("%s %s: %s, want %d", test.method, test.id, res.Status, test.status)
		}
	}
	s.WantChanges(s.Follow()[1])
}
