package rshttp

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// glance is how often the background looks at a set that does not tell of its
// changes.
const glance = time.Minute

// runSets does the background work of the sets until ctx ends.
func (s *Source) runSets(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, st := range s.order {
		g.Go(func() error {
			s.keepDivided(ctx, &st.pages)
			return nil
		})
		if st.opener != nil {
			g.Go(func() error {
				s.keepDivided(ctx, &st.packages)
				return nil
			})
		}
		if st.sealer != nil && st.has(resourcesync.ChangeDump) {
			g.Go(func() error {
				s.keepSealed(ctx, st)
				return nil
			})
		}
		if st.watcher != nil {
			g.Go(func() error {
				s.watch(ctx, st)
				return nil
			})
		}
	}
	return g.Wait()
}

// keepDivided divides the set of d whenever it has changed, with rests in
// between.
func (s *Source) keepDivided(ctx context.Context, d *division) {
	for {
		var p *pages
		err := background.Safely(func() (err error) {
			p, err = s.background(ctx, d)
			return err
		})
		rest := time.Second
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, resourcesync.ErrNotReady):
			s.log.Warn("set not divided into "+d.into, "set", d.set.name, "error", err)
			rest = 10 * time.Second
		case p != nil:
			rest = max(rest, restRatio*p.took)
		}
		if background.Sleep(ctx, rest) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-time.After(glance + rand.N(glance/10)):
		}
	}
}

// background divides the set of d if it has changed since it was divided last.
func (s *Source) background(ctx context.Context, d *division) (*pages, error) {
	p, due := d.get()
	if p == nil && d.lazy {
		return nil, nil
	}
	if stater := d.set.stater; p != nil && !due && stater != nil {
		stat, err := stater.Stat(ctx, wholeSet)
		if err != nil || stat.Version == p.version && stat.Version != "" {
			return nil, err
		}
	}
	// What begins here ends with ctx, and is not left behind.
	begun, ended := make(chan struct{}), make(chan struct{})
	p, err := s.divideOnce(ctx, d, p, func() (*pages, error) {
		close(begun)
		defer close(ended)
		return s.divide(ctx, d)
	})
	select {
	case <-begun:
		<-ended
	default:
	}
	return p, err
}

// watch passes on what st tells of its changes.
func (s *Source) watch(ctx context.Context, st *set) {
	for {
		err := background.Safely(func() error {
			return st.watcher.Watch(ctx, func() {
				st.pages.nudge()
				st.packages.nudge()
			})
		})
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("watching a set has ended and begins again", "set", st.name, "error", err)
		if background.Sleep(ctx, 10*time.Second) != nil {
			return
		}
	}
}
