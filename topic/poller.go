package topic

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

const (
	// pollInterval is how often a set that does not tell of its changes is looked at,
	// and how often other processes try to lead.
	pollInterval = time.Second

	// sweep is how often a journal is looked at, and hubs are asked for,
	// whatever anybody says. Documents come to be some time after what they are
	// about: they are looked at more often.
	sweep          = time.Minute
	sweepDocuments = 10 * time.Second

	// pause is the least time between two looks at a set that changes all the
	// time.
	pause = 50 * time.Millisecond

	// maxRest bounds the rest after failures in a row.
	maxRest = 30 * time.Second
)

// A poller says when to look at a set.
type poller struct {
	watcher resourcesync.Watcher
	stater  resourcesync.Stater
	woken   chan struct{}
	stuck   *time.Timer   // goes off when work does not come to an end; nil if nobody asks
	sweep   time.Duration // at most between looks
	pause   time.Duration // at least

	due     bool      // there may be something that has not been looked at
	since   time.Time // when there was a sign of that last
	looked  time.Time
	version string // of the set, when Stat was asked last
}

func newPoller(c *Channel) *poller {
	a := &poller{watcher: c.Watcher, stater: c.Stater, woken: make(chan struct{}, 1), sweep: sweep, pause: pause}
	if c.Documents != nil {
		a.sweep = sweepDocuments
	}
	a.ring()
	return a
}

// ring makes it time to look, because there is a sign that there is something.
func (a *poller) ring() {
	a.due, a.since = true, time.Now()
}

// told says that work has made a notification: it is not stuck.
func (a *poller) told() {
	if a.stuck != nil {
		a.stuck.Reset(stuckAfter)
	}
}

// ask finds out whether it is time to look.
func (a *poller) ask(ctx context.Context) error {
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

// period is how long to wait for a sign before asking.
func (a *poller) period() time.Duration {
	if a.watcher != nil && !a.due {
		return a.sweep
	}
	return pollInterval
}

// wait waits until there is a sign, but at least for the pause and no longer than
// d.
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

// watch passes on what the set tells of its changes.
func (a *poller) watch(ctx context.Context, log *slog.Logger) {
	for {
		err := background.Safely(func() error { return a.watcher.Watch(ctx, func() { background.Signal(a.woken) }) })
		if ctx.Err() != nil {
			return
		}
		log.LogAttrs(ctx, slog.LevelWarn, "watching a set has ended and begins again", slog.Any("error", err))
		if background.Sleep(ctx, 10*time.Second) != nil {
			return
		}
		background.Signal(a.woken) // for what nobody has told of meanwhile
	}
}

// persist does work again and again until ctx is done. work returns how long to
// wait for before the next time. After failures the rests grow; the first of a
// kind is reported by failed, and the end of all of them by ok.
func persist(ctx context.Context, a *poller, work func() (time.Duration, error), failed func(error), ok func()) {
	rest := pollInterval
	for ctx.Err() == nil {
		var d time.Duration
		err := background.Safely(func() (err error) {
			d, err = work()
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			ok()
			rest = pollInterval
			_ = a.wait(ctx, d) // it ends when ctx does
			continue
		}
		failed(err)
		if background.Sleep(ctx, rest/2+rand.N(rest/2)) != nil {
			return
		}
		rest = min(2*rest, maxRest)
	}
}
