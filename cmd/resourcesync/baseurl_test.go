package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/scan"
)

// begun returns whether a set is ready at a start, before its first scan, and the base URL
// that is recorded in the state at that time.
func begun(t *testing.T, folder, state, baseURL string) (ready bool, recorded string) {
	t.Helper()
	c, err := parseServe([]string{folder, "--state", state, "--base-url", baseURL})
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := c.OpenState(t.Context(), log)
	must(t, err)
	defer st.Close()
	p := open(t, c, st, terminal.New(nil))
	id, err := scan.Recorded(t.Context(), p.Stored)
	must(t, err)
	return p.Scanned.Ready(), id.URIs
}

// TestBaseURLIsRecorded: a start does not read resources to find out whether the set
// has its base URL. To show this, all resources are damaged.
func TestBaseURLIsRecorded(t *testing.T) {
	t.Parallel()
	const damage = "UPDATE rs_resource SET body = "
	for kind, newState := range states {
		t.Run(kind, func(t *testing.T) {
			folder, state := sampleFolder(t), newState(t)
			scanOnce(t, false, folder, "--state", state, "--base-url", publicURL)
			if kind == "sqlite" {
				sql(t, state, damage+"x'ff00'")
			} else {
				conn, err := pgx.Connect(t.Context(), state)
				must(t, err)
				defer conn.Close(context.WithoutCancel(t.Context()))
				_, err = conn.Exec(t.Context(), damage+`'\xff00'`)
				must(t, err)
			}
			if ready, recorded := begun(t, folder, state, publicURL); !ready || recorded != publicURL {
				t.Errorf("ready: %t, recorded %q", ready, recorded)
			}
		})
	}
}

// TestBaseURLChanges: a set is not shown with the URIs of another base URL.
func TestBaseURLChanges(t *testing.T) {
	t.Parallel()
	const elsewhere = "http://example.org/"
	folder, state := sampleFolder(t), states["sqlite"](t)
	for i, base := range []string{publicURL, elsewhere, publicURL} {
		if ready, _ := begun(t, folder, state, base); ready {
			t.Errorf("%d: ready before the scan", i)
		}
		scanOnce(t, false, folder, "--state", state, "--base-url", base)
		if ready, recorded := begun(t, folder, state, base); !ready || recorded != base {
			t.Errorf("%d: ready: %t, recorded %q", i, ready, recorded)
		}
	}
}
