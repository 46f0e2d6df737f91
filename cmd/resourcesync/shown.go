package main

import (
	"context"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// A shownSet is a set that is not ready before it is shown: a state of another
// base URL has URIs of the site as it was. Whoever wants anything of a set asks
// for its Stat first.
type shownSet struct {
	*sqlstore.Set
	shown atomic.Bool
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
