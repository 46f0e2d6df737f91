package providertest

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
)

// badWindow bends the windows of ten.
func badWindow(bend func(windows []resourcesync.Interval) []resourcesync.Interval) func(context.Context, *bent, *Options) resourcesync.Provider {
	return func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.windows = func(ctx context.Context, max int) ([]resourcesync.Interval, error) {
			windows, err := b.full.Windows(ctx, max)
			if max == 10 {
				windows = bend(windows)
			}
			return windows, err
		}
		return b
	}
}

var badWindows = []bad{
	{"begins late", "Windows/contiguous", false, badWindow(func(w []resourcesync.Interval) []resourcesync.Interval { return w[1:] })},
	{"a gap", "Windows/contiguous", false, badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		w[1].From = w[1].From.Add(1)
		return w
	})},
	{"all closed", "Windows/contiguous", false, badWindow(func(w []resourcesync.Interval) []resourcesync.Interval { return w[:len(w)-1] })},
	{"an empty one", "Windows/contiguous", false, badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		return append([]resourcesync.Interval{{From: w[0].From, Until: w[0].From}}, w...)
	})},
	{"none", "Windows/contiguous", false, badWindow(func([]resourcesync.Interval) []resourcesync.Interval { return nil })},
	{"one for all", "Windows/size", false, badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		return []resourcesync.Interval{{From: w[0].From}}
	})},
	{"moves", "Windows/closed", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.windows = func(ctx context.Context, max int) ([]resourcesync.Interval, error) {
			if max == 2 {
				all, _ := collect(b.full.Changes(ctx, resourcesync.Interval{}), keepChange)
				max -= len(all) % 2
			}
			return b.full.Windows(ctx, max)
		}
		return b
	}},
}
