package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/examples/internal/tour"
)

func TestMain(m *testing.M) { tour.Main(m, main) }

func TestTour(t *testing.T) {
	tour.Start(t).Take("/articles/hello", "/articles/draft")
}

// Names of all kinds make URIs that resolve to their articles.
func TestNames(t *testing.T) {
	s := tour.Start(t)
	const name = "/articles/d%C3%A9j%C3%A0%20vu%3F%2F%25"
	if res, answer := s.Do("PUT", name, "text"); res.StatusCode != http.StatusNoContent {
		t.Errorf("%s %s", res.Status, answer)
	}
	s.WantListed(s.Follow()[0], name)
}

func TestRefusals(t *testing.T) {
	s := tour.Start(t)
	for _, test := range []struct {
		method, name, body string
		status             int
	}{
		{"PUT", strings.Repeat("x", 1025), "too long a name", http.StatusBadRequest},
		{"PUT", "large", strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge},
		{"GET", "large", "", http.StatusNotFound},
		{"DELETE", "large", "", http.StatusNoContent}, // as it should be
	} {
		if res, _ := s.Do(test.method, "/articles/"+test.name, test.body); res.StatusCode != test.status {
			t.Errorf("%s %.10s: %s, want %d", test.method, test.name, res.Status, test.status)
		}
	}
	s.WantChanges(s.Follow()[1])
}
