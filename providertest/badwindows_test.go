package providertest

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
)

// badWindow bends the windows of ten.
func badWindow(bend func(windows []resourcesync.Interval) []resourcesync.Interval) func(*bent) {
	return func(b *bent) {
		b.windows = func(ctx context.Context, max int) ([]resourcesync.Interval, error) {
			windows, err := b.full.Windows(ctx, max)
			if max == 10 {
				windows = bend(windows)
			}
			return windows, err
		}
	}
}

var badWindows = []bad{
	{"begins late", "Windows/contiguous", badWindow(func(w []resourcesync.Interval) []resourcesync.Interval { return w[1:] })},
	{"a gap", "Windows/contiguous", badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		w[1].From = w[1].From.Add(1)
		return w
	})},
	{"all closed", "Windows/contiguous", badWindow(func(w []resourcesync.Interval) []resourcesync.Interval { return w[:len(w)-1] })},
	{"an empty one", "Windows/contiguous", badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		return append([]resourcesync.Interval{{From: w[0].From, Until: w[0].From}}, w...)
	})},
	{"none", "Windows/contiguous", badWindow(func([]resourcesync.Interval) []resourcesync.Interval { return nil })},
	{"one for all", "Windows/size", badWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		return []resourcesync.Interval{{From: w[0].From}}
	})},
	{"moves", "Windows/closed", func(b *bent) {
		b.windows = func(ctx context.Context, max int) ([]resourcesync.Interval, error) {
			if max == 2 {
				all, _ := collect(b.full.Changes(ctx, resourcesync.Interval{}))
				max -= len(all) % 2
			}
			return b.full.Windows(ctx, max)
		}
	}},
}
