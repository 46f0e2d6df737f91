package dir

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxDelay is the maximum delay of the report on a file while its events keep arriving,
// in multiples of Options.Debounce.
const maxDelay = 10

// Watch calls changed with the paths of files and folders that may have changed, in the
// form that [Dir.Part] takes. A nil slice means that anything may have changed, so that
// only [Dir.Resources] finds it. changed(nil) is the first call. A later one follows when
// the operating system has lost events.
//
// Changes are reported when a file has had no event for Options.Debounce. While events of
// a file keep arriving, Watch waits ten times as long at most. It does so for a file
// alone, except that what has disappeared is reported together with all other changes:
// both ends of a rename belong to one call. A large file is not reported again before it
// has rested for four times the duration of its last read. changed may take its time:
// Watch collects further changes meanwhile.
//
// Scans begin to watch the folders that they enter, before they read them, so what a scan
// misses is reported. One Watch of a Dir runs at a time.
//
// Watch may miss changes, so callers must also scan the whole folder from time to time:
// network file systems report none, and operating systems limit the number of watched
// folders and queued events. Watch logs a limit once when it is reached, and continues
// with the folders that it watches.
//
// Watch returns the error of ctx when ctx is done, and another error if the operating
// system cannot watch folders.
func (d *Dir) Watch(ctx context.Context, changed func(paths []string)) error {
	n := newNotices(d, nil, nil)
	if err := n.renew(); err != nil {
		return fmt.Errorf("dir: watching %s: %w", d.path, err)
	}
	defer n.close()
	d.watching.Store(n)
	defer d.watching.CompareAndSwap(n, nil)
	return n.run(ctx, changed)
}

// begin prepares for a scan of the whole folder. The caller calls the result when the scan
// has read everything. begin does nothing if n is nil.
func (n *notices) begin() (complete func()) {
	if n == nil {
		return func() {}
	}
	n.mu.Lock()
	lost := n.lost
	n.scans++
	scan := n.scans
	n.known = false
	n.mu.Unlock()
	if lost {
		_ = n.renew() // the next scan tries again
	}
	return func() {
		n.mu.Lock()
		n.known = scan == n.scans
		n.mu.Unlock()
	}
}

// renew watches the folders that scans enter from now on, and no others.
func (n *notices) renew() error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	n.registering.Lock()
	n.mu.Lock()
	end := w.Close
	if !n.ended {
		n.receivers.Go(func() { n.receive(w.Events, w.Errors) })
		n.end, end = end, n.end
		n.watch, n.unwatch, n.lost = w.Add, w.Remove, false
		clear(n.watched)
		clear(n.keys)
	}
	n.mu.Unlock()
	n.registering.Unlock()
	if end != nil {
		end()
	}
	return nil
}

// close stops watching.
func (n *notices) close() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.end()
	n.receivers.Wait()
}

// run reports changes until ctx is done.
func (n *notices) run(ctx context.Context, changed func(paths []string)) error {
	changed(nil)
	var due time.Time // zero if nothing is pending
	for {
		if due.IsZero() {
			select {
			case <-n.changed:
				due = time.Now() // pending events may have waited during the last call of changed
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return ctx.Err()
		}
		now := time.Now()
		ready, all, wait := n.take(now)
		if due = (time.Time{}); wait > 0 {
			due = now.Add(wait) // changed may take longer
		}
		if all {
			changed(nil)
		} else if paths := n.paths(ready); len(paths) > 0 {
			changed(paths)
		}
	}
}
