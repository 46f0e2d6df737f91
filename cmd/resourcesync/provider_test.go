package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// runState opens the state that flags name, and runs its background work until the test
// ends.
func runState(t *testing.T, flags ...string) (*site.Config, *state.State) {
	t.Helper()
	c, err := parseServe(flags)
	must(t, err)
	st, err := c.OpenState(t.Context(), slog.New(slog.DiscardHandler))
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error)
	go func() { ended <- st.Store.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
		must(t, st.Close())
	})
	return c, st
}

// The publication of a folder is a provider: the set, combined with the files and the
// copies of their versions. It changes with the files.
func TestPublicationIsProvider(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for name, newState := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := []string{sampleFolder(t), "--state", newState(t), "--base-url", publicURL, "--max-delete", "100%"}
			if name == "sqlite" {
				flags = append(flags, "--keep-versions", "1d")
			}
			c, st := runState(t, flags...)
			p := open(t, c, st, terminal.New(nil))
			scanOf(t, p)
			file := func(key string) string { return filepath.Join(flags[0], filepath.FromSlash(key)) }
			o := &providertest.Options{
				Opener: p.Content.Origin.(resourcesync.Opener),
				Put: func(ctx context.Context, resources ...resourcesync.Resource) error {
					for _, r := range resources {
						write(t, file(r.Key), string(providertest.Content(r)))
						must(t, os.Chtimes(file(r.Key), time.Time{}, r.LastModified))
					}
					_, err := p.Scanned.Update(ctx)
					return err
				},
				Delete: func(ctx context.Context, keys ...string) error {
					for _, key := range keys {
						must(t, os.RemoveAll(file(key)))
					}
					_, err := p.Scanned.Update(ctx)
					return err
				},
				Equal: func(got, want resourcesync.Resource) bool {
					return got.Key == want.Key && got.LastModified.Equal(want.LastModified) && got.Length == want.Length &&
						len(got.Hashes) > 0 && slices.Contains(want.Hashes, got.Hashes[0])
				},
				ExactStat: true,
			}
			o.ChangeOpener = p.Content.Set.ChangeOpener
			if err := providertest.Test(t.Context(), p.Scanned, o); err != nil {
				t.Error(err)
			}
		})
	}
}
