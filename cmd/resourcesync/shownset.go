package main

import (
	"context"
	"iter"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A shownSet is a set that is not ready until it is shown, because a state of another
// base URL has old URIs. All uses of a set by a Source call Stat first.
type shownSet struct {
	*sqlstore.Set
	shown  atomic.Bool
	bell   background.Bell // the set is shown
	hidden func() error    // an error while the set must not be shown; may be nil
}

// isShown reports whether the set can be read.
func (s *shownSet) isShown() bool { return s.shown.Load() && (s.hidden == nil || s.hidden() == nil) }

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
	if !s.isShown() {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return s.Set.Stat(ctx, r)
}

func (s *shownSet) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	if !s.isShown() {
		return func(yield func(resourcesync.Resource, error) bool) {
			yield(resourcesync.Resource{}, resourcesync.ErrNotReady)
		}
	}
	return s.Set.First(ctx, r, n)
}

func (s *shownSet) Folder(ctx context.Context, folder string, r resourcesync.Range, n int) ([]resourcesync.Resource, error) {
	if !s.isShown() {
		return nil, resourcesync.ErrNotReady
	}
	return s.Set.Folder(ctx, folder, r, n)
}

func (s *shownSet) Since(ctx context.Context) (time.Time, error) {
	if !s.isShown() {
		return time.Time{}, resourcesync.ErrNotReady
	}
	return s.Set.Since(ctx)
}

func (s *shownSet) Covers(u *url.URL) bool { return s.isShown() && s.Set.Covers(u) }
