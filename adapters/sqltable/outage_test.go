package sqltable

import (
	"errors"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
)

// TestOutage: while the server is down, nothing is said about the journal or held deletions, of which
// nothing is known.
func TestOutage(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	server := pgtest.Start(t)
	w := newWatched(t, postgresDatabaseAt(t, pgtest.Address(server)))
	papers := w.open(t)
	w.log.Reset()
	server.Exec("CHECKPOINT") // the tests' connections do not wait until a commit is on disk
	server.Kill()
	for range 2 {
		papers.prove(t.Context())
	}
	said := w.log.String()
	if n := strings.Count(said, "the database cannot be asked whether the journal is complete"); n == 0 || strings.Count(said, "\n") != n {
		t.Errorf("log: %s", said)
	}
	if err := papers.Health(t.Context()); err == nil || errors.Is(err, ErrUnproven) {
		t.Errorf("health: %v", err)
	}
	server.Restart()
	papers.prove(t.Context())
	if said := w.log.String(); !strings.Contains(said, "the journal can be proven complete again") {
		t.Errorf("log: %s", said)
	}
	must(t, papers.Health(t.Context()))
}
