package rshttp

import (
	"context"

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
				background.Watch(ctx, st.watcher.Watch, func() {
					st.pages.Wake()
					st.packages.Wake()
				}, st.log.With("set", st.name), "watching a set has ended; restarting")
				return nil
			})
		}
	}
	return g.Wait()
}
