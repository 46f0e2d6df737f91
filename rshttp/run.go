package rshttp

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
)

// glance is how often the background looks at a set that does not tell of its
// changes.
const glance = time.Minute

// Run does the Source's background work until ctx ends, and then returns nil: it
// divides sets into pages, so that no request for an index waits for that except
// the first. A Source works without it; the request that finds an index out of
// date then brings it up to date. Run must not be called twice at the same time.
func (s *Source) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("rshttp: Run is running already")
	}
	defer s.running.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	for _, st := range s.order {
		g.Go(func() error {
			s.keepDivided(ctx, st)
			return nil
		})
		if st.watcher != nil {
			g.Go(func() error {
				s.watch(ctx, st)
				return nil
			})
		}
	}
	return g.Wait()
}

// keepDivided divides st whenever it has changed, with rests in between.
func (s *Source) keepDivided(ctx context.Context, st *set) {
	for {
		p, err := s.background(ctx, st)
		rest := time.Second
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, resourcesync.ErrNotReady):
			s.log.Warn("set not divided into pages", "set", st.name, "error", err)
			rest = 10 * time.Second
		case p != nil:
			rest = max(rest, restRatio*p.took)
		}
		if !sleep(ctx, rest) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-st.division.wake:
		case <-time.After(glance + rand.N(glance/10)):
		}
	}
}

// background divides st if it has changed since it was divided last.
func (s *Source) background(ctx context.Context, st *set) (*pages, error) {
	p, due := st.division.get()
	if p != nil && !due && st.stater != nil {
		stat, err := st.stater.Stat(ctx, wholeSet)
		if err != nil || stat.Version == p.version {
			return nil, err
		}
	}
	return s.divideAnew(ctx, st, p)
}

// watch passes on what st tells of its changes.
func (s *Source) watch(ctx context.Context, st *set) {
	for {
		err := st.watcher.Watch(ctx, st.division.nudge)
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("watching a set has ended and begins again", "set", st.name, "error", err)
		if !sleep(ctx, 10*time.Second) {
			return
		}
	}
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
