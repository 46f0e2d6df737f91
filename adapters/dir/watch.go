package dir

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience is how many times Options.Debounce a wake is put off while things
// go on happening.
const patience = 10

// Watch calls wake when something in the folder may have changed, once after a
// burst of changes, and once at the beginning, when all folders are watched: what
// changed before is for the scan that this asks for.
//
// It is a hint, and scanning is the truth: network file systems tell nothing,
// and operating systems limit how many folders can be watched and how many events
// can wait. When a limit is met that is logged, once, and Watch goes on with what
// it has. So callers also scan from time to time without being woken.
//
// Watch returns the error of ctx when that is done, and another one if the
// operating system has no watching to offer.
func (d *Dir) Watch(ctx context.Context, wake func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("dir: watching %s: %w", d.path, err)
	}
	n := newNotices(d, w.Add, w.Remove)
	var wg sync.WaitGroup
	wg.Go(func() { n.take(w.Events, w.Errors) })
	defer wg.Wait()
	defer w.Close()
	return n.run(ctx, wake)
}

// run has new folders watched and wakes its caller, until ctx is done. It does
// so in this order: what happens in a new folder before it is watched is found
// by the scan, what happens after is told.
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

// settle waits until nothing has changed for as long as quiet, but no longer
// than patience allows.
func settle(ctx context.Context, changed <-chan struct{}, quiet time.Duration) {
	limit := time.After(patience * quiet)
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
