package providertest

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/internal/leaktest"
)

// leaks runs f several times and returns an error if each run leaves a goroutine
// behind. A few goroutines that stay, such as those of a connection pool, are not a leak.
func (s *subject) leaks(ctx context.Context, f func(ctx context.Context)) error {
	const times = 16
	left := leaktest.Run(ctx, func(ctx context.Context) {
		for range times {
			f(ctx)
		}
	}).Wait(times-1, s.opts.Wait)
	if left >= times {
		return fmt.Errorf("%d goroutines remain after %d iterations that ended early", left, times)
	}
	return nil
}
