package main

import (
	"context"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	bells "github.com/resourcesync-go/resourcesync/internal/wake"
)

// A shownSet is a set that is not ready until it is shown, because a state of another
// base URL has old URIs. All uses of a set call Stat first.
type shownSet struct {
	*sqlstore.Set
	shown atomic.Bool
	bell  bells.Bell // the set is shown
}

// show makes the set ready.
func (s *shownSet) show() {
	s.shown.Store(true)
	s.bell.Ring()
}

// Watch implements [resourcesync.Watcher]. It also wakes when the set is shown.
func (s *shownSet) Watch(ctx context.Context, wake func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.bell.Listen(ctx, wake) })
	g.Go(func() error { return s.Set.Watch(ctx, wake) })
	return g.Wait()
}

func (s *shownSet) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if !s.shown.Load() {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return s.Set.Stat(ctx, r)
}

func (s *shownSet) Since(ctx context.Context) (time.Time, error) {
	if !s.shown.Load() {
		return time.Time{}, resourcesync.ErrNotReady
	}
	return s.Set.Since(ctx)
}

func (s *shownSet) Covers(u *url.URL) bool { return s.shown.Load() && s.Set.Covers(u) }
