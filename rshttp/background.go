package rshttp

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// runSets does the background work of the sets until ctx ends.
func (s *site) runSets(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, st := range s.order {
		g.Go(func() error {
			st.pages.Run(ctx, s.log)
			return nil
		})
		if st.opener != nil {
			g.Go(func() error {
				st.packages.Run(ctx, s.log)
				return nil
			})
		}
		if st.has(resourcesync.ChangeDump) {
			g.Go(func() error {
				st.changePackages.Run(ctx, s.log)
				return nil
			})
		}
		if st.watcher != nil {
			g.Go(func() error {
				st.watch(ctx)
				return nil
			})
		}
	}
	return g.Wait()
}

// watch watches st until ctx is done.
func (st *set) watch(ctx context.Context) {
	for {
		err := background.Safely(func() error {
			return st.watcher.Watch(ctx, func() {
				st.pages.Wake()
				st.packages.Wake()
			})
		})
		if ctx.Err() != nil {
			return
		}
		st.log.Warn("watching a set has ended; restarting", "set", st.name, "error", err)
		if background.Sleep(ctx, 10*time.Second) != nil {
			return
		}
	}
}
