package dir

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxDelay is the maximum delay of a wake while events keep arriving, in multiples of
// Options.Debounce.
const maxDelay = 10

// Watch calls wake once after each burst of changes in the folder. It also calls wake
// at the beginning, when it watches all folders, so that a scan finds earlier changes.
//
// Watch may miss changes, so callers must also scan from time to time without being
// woken: network file systems report none, and operating systems limit the number of
// watched folders and queued events. Watch logs a limit once when it is reached, and
// continues with the folders that it watches.
//
// Watch returns the error of ctx when ctx is done, and another error if the operating
// system cannot watch folders.
func (d *Dir) Watch(ctx context.Context, wake func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("dir: watching %s: %w", d.path, err)
	}
	n := newNotices(d, w.Add, w.Remove)
	var wg sync.WaitGroup
	wg.Go(func() { n.receive(w.Events, w.Errors) })
	defer wg.Wait()
	defer w.Close()
	return n.run(ctx, wake)
}

// run watches new folders and then calls wake, until ctx is done. In this order, the
// scan finds the changes in a new folder from before it was watched, and events report
// the later ones.
func (n *notices) run(ctx context.Context, wake func()) error {
	for {
		n.rewatch(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wake()
		select {
		case <-n.changed:
		case <-ctx.Done():
		}
		settle(ctx, n.changed, n.dir.debounce)
	}
}

// settle waits until nothing has changed for the duration quiet, and for maxDelay times
// quiet at most.
func settle(ctx context.Context, changed <-chan struct{}, quiet time.Duration) {
	limit := time.After(maxDelay * quiet)
	for {
		select {
		case <-changed:
		case <-time.After(quiet):
			return
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}
