package publisher

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// pollInterval is the interval at which a set without a Watcher is polled, and
	// other processes try to become the leader.
	pollInterval = time.Second

	// sweep is the maximum time between two reads of a journal, or of the log by a
	// sender. The lists of documents change some time after the resources, so they
	// are read more often.
	sweep          = time.Minute
	sweepDocuments = 10 * time.Second

	// pause is the minimum time between two reads of a set that changes all the time.
	pause = 50 * time.Millisecond

	// maxRest is the maximum pause after successive failures.
	maxRest = 30 * time.Second
)

// A poller decides when to read a set.
type poller struct {
	watcher resourcesync.Watcher
	stater  resourcesync.Stater
	woken   chan struct{}
	stuck   *time.Timer   // fires when work takes too long; nil if it is not watched
	sweep   time.Duration // maximum time between reads
	pause   time.Duration // minimum time between reads

	due     bool      // there may be something to read
	since   time.Time // the last sign of that
	looked  time.Time // the last complete read
	version string    // of the set, at the last call of Stat
}

func newPoller(c *Channel) *poller {
	a := &poller{watcher: c.Watcher, stater: c.Stater, woken: make(chan struct{}, 1), sweep: sweep, pause: pause}
	if c.Documents != nil {
		a.sweep = sweepDocuments
	}
	a.ring()
	return a
}

// ring records a sign that there is something to read.
func (a *poller) ring() {
	a.due, a.since = true, time.Now()
}

// progressed records that work has published a notification, so it is not stuck.
func (a *poller) progressed() {
	if a.stuck != nil {
		a.stuck.Reset(stuckAfter)
	}
}

// poll determines whether a read is due.
func (a *poller) poll(ctx context.Context) error {
	a.due = a.due || time.Since(a.looked) >= a.sweep
	switch {
	case a.watcher != nil:
	case a.stater == nil:
		a.ring()
	default:
		stat, err := a.stater.Stat(ctx, resourcesync.Range{})
		if err != nil {
			return err
		}
		if stat.Version != a.version || stat.Version == "" {
			a.version = stat.Version
			a.ring()
		}
	}
	return nil
}

// period returns the time to wait for a sign before the next poll.
func (a *poller) period() time.Duration {
	if a.watcher != nil && !a.due {
		return a.sweep
	}
	return pollInterval
}

// wait waits until there is a sign, at least for the pause and for d at most.
func (a *poller) wait(ctx context.Context, d time.Duration) error {
	if err := background.Sleep(ctx, min(d, a.pause)); err != nil || d <= a.pause {
		return err
	}
	timer := time.NewTimer(d - a.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.woken:
		a.ring()
	case <-timer.C:
	}
	return nil
}

// persist calls the named work repeatedly until ctx is done. work returns the time to wait
// before the next call. After failures the pauses grow.
func (p *Publisher) persist(ctx context.Context, name string, a *poller, work func(context.Context) (time.Duration, error)) {
	rest := pollInterval
	for ctx.Err() == nil {
		var d time.Duration
		err := background.Safely(func() (err error) {
			d, err = work(ctx)
			return err
		})
		if ctx.Err() != nil {
			return
		}
		p.report(name, err)
		if err == nil {
			rest = pollInterval
			_ = a.wait(ctx, d) // the loop checks ctx
			continue
		}
		_ = background.Sleep(ctx, rest/2+rand.N(rest/2))
		rest = min(2*rest, maxRest)
	}
}
