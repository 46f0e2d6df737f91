package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// counted returns what a start with these flags finds before its first scan, and the
// base URL that the state records then.
func counted(t *testing.T, folder, state, baseURL string) (files int64, recorded string, err error) {
	t.Helper()
	c, err := parseServe([]string{folder, "--state", state, "--base-url", baseURL})
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := openState(t.Context(), c, log)
	must(t, err)
	defer st.close()
	p := open(t, c, st, terminal.New(nil))
	files, counted := p.count(t.Context())
	o, err := readOrigin(t.Context(), p.set.Set)
	must(t, err)
	return files, o.BaseURL, counted
}

// TestBaseURLIsRecorded: a start reads no resource to find out whether the set has its
// base URL. To show this, all resources are damaged.
func TestBaseURLIsRecorded(t *testing.T) {
	const damage = "UPDATE rs_resource SET body = "
	for kind, newState := range states {
		t.Run(kind, func(t *testing.T) {
			folder, state := sampleFolder(t), newState(t)
			scanOnce(t, false, folder, "--state", state, "--base-url", publicURL)
			want := publicURL
			if kind == "sqlite" {
				sql(t, state, damage+"x'ff00'")
			} else {
				want = ""
				conn, err := pgx.Connect(t.Context(), state)
				must(t, err)
				defer conn.Close(context.WithoutCancel(t.Context()))
				_, err = conn.Exec(t.Context(), damage+`'\xff00'`)
				must(t, err)
			}
			files, recorded, err := counted(t, folder, state, publicURL)
			if err != nil || files != int64(len(sampleFiles)) || recorded != want {
				t.Errorf("%d files, recorded %q, %v", files, recorded, err)
			}
		})
	}
}

// TestBaseURLOfEarlierVersion: a state without a record is read once.
func TestBaseURLOfEarlierVersion(t *testing.T) {
	folder, state := sampleFolder(t), states["sqlite"](t)
	scanOnce(t, false, folder, "--state", state, "--base-url", publicURL)
	sql(t, state, "UPDATE rs_set SET origin = NULL")
	if _, recorded, err := counted(t, folder, state, "http://example.org/"); !errors.Is(err, resourcesync.ErrNotReady) || recorded != "" {
		t.Errorf("another base URL: recorded %q, %v", recorded, err)
	}
	if files, recorded, err := counted(t, folder, state, publicURL); err != nil || files != int64(len(sampleFiles)) || recorded != publicURL {
		t.Errorf("%d files, recorded %q, %v", files, recorded, err)
	}
	sql(t, state, "UPDATE rs_resource SET body = x'ff00'")
	if _, _, err := counted(t, folder, state, publicURL); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

// TestBaseURLInDoubt: while the first scan with another base URL runs, the state
// records none. What is interrupted then leaves URIs of both, and neither is served.
func TestBaseURLInDoubt(t *testing.T) {
	const elsewhere = "http://example.org/"
	folder, state := sampleFolder(t), states["sqlite"](t)
	scanOnce(t, false, folder, "--state", state, "--base-url", publicURL)
	if _, recorded, err := counted(t, folder, state, elsewhere); !errors.Is(err, resourcesync.ErrNotReady) || recorded != "" {
		t.Errorf("before the scan: recorded %q, %v", recorded, err)
	}
	scanOnce(t, false, folder, "--state", state, "--base-url", elsewhere)
	if _, recorded, err := counted(t, folder, state, elsewhere); err != nil || recorded != elsewhere {
		t.Errorf("after the scan: recorded %q, %v", recorded, err)
	}
	if _, recorded, err := counted(t, folder, state, publicURL); !errors.Is(err, resourcesync.ErrNotReady) || recorded != "" {
		t.Errorf("back again: recorded %q, %v", recorded, err)
	}
}
