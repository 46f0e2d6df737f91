package framework

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// Watches reports whether Watch wakes for all on which Next depends, except the passing of time.
func (d *Feed) Watches() bool {
	return d.set.Watcher != nil && (d.set.Changer == nil || d.set.ChangeWatcher != nil)
}

// Watch implements [resourcesync.Watcher]: it calls wake after changes of the set, of its
// journal and of its partitions, which lag behind the set.
func (d *Feed) Watch(ctx context.Context, wake func()) error {
	watches := []func(context.Context, func()) error{d.set.Watcher.Watch, d.set.Pages.Divided.Listen, d.set.Packages.Divided.Listen}
	if d.set.WatchesApart {
		watches = append(watches, d.set.ChangeWatcher.Watch)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(watches))
	for _, watch := range watches {
		go func() {
			ended <- background.Safely(func() error { return watch(ctx, wake) })
		}()
	}
	err := <-ended // one has failed, or ctx is done
	stop()
	for range watches[1:] {
		<-ended
	}
	return err
}
