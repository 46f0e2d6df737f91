package topic

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// idleTimeout is the time for which changes may wait while no process runs a Publisher for
// the log. A process that starts or takes over needs less.
const idleTimeout = 10 * time.Second

// errNotRun means that changes have waited for longer than idleTimeout.
var errNotRun = errors.New("changes wait, but no process publishes them: call Run of the Source or the Publisher in a long-running process")

// idle detects that no process calls Run.
type idle struct {
	since   atomic.Int64 // the last time at which a process was known to run, in nanoseconds since 1970
	armed   atomic.Bool  // a timer is set
	noticed atomic.Bool  // the error is logged
}

// ExpectRun schedules a check for changes that wait because no process runs a Publisher for
// the log; the Publisher logs them once. It is cheap enough to be called with each request,
// as rshttp does.
func (p *Publisher) ExpectRun() {
	if p.running.Load() || p.idle.noticed.Load() || !p.idle.armed.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(idleTimeout, func() {
		ctx, cancel := context.WithTimeout(context.Background(), idleTimeout)
		defer cancel()
		p.checkIdle(ctx)
		p.idle.armed.Store(false)
	})
}

// checkIdle returns errNotRun if changes have waited for idleTimeout and no process runs a
// Publisher.
func (p *Publisher) checkIdle(ctx context.Context) error {
	if p.running.Load() || time.Since(time.Unix(0, p.idle.since.Load())) < idleTimeout {
		return nil
	}
	news := false
	if err := background.Safely(func() error { news = p.hasNews(ctx); return nil }); err != nil || !news {
		return err
	}
	free, err := p.store.Lead(ctx, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	if !free || p.running.Load() {
		p.runs()
		return nil
	}
	if p.idle.noticed.CompareAndSwap(false, true) {
		p.log.LogAttrs(ctx, slog.LevelError, "topic: "+errNotRun.Error())
	}
	return errNotRun
}

// runs records that a process runs a Publisher.
func (p *Publisher) runs() {
	p.idle.since.Store(time.Now().UnixNano())
	p.idle.noticed.Store(false)
}

// hasNews reports whether a change channel has an unpublished change or has never begun, or
// a framework channel could publish its first notification. A set that is not ready has no
// news.
func (p *Publisher) hasNews(ctx context.Context) bool {
	for i := range p.channels {
		c := &p.channels[i]
		if c.Changer == nil {
			if p.hasDocuments(ctx, c) {
				return true
			}
			continue
		}
		if _, err := c.Changer.Since(ctx); err != nil {
			continue
		}
		state, err := p.store.State(ctx, c.Topic)
		switch {
		case err != nil:
			continue
		case state.Until.IsZero():
			return true
		}
		for _, err := range c.Changer.Changes(ctx, resourcesync.Interval{From: state.Until}) {
			if err == nil {
				return true
			}
		}
	}
	return false
}

// hasDocuments reports whether a framework channel could publish its first notification. It
// changes nothing.
func (p *Publisher) hasDocuments(ctx context.Context, c *Channel) bool {
	state, err := p.store.State(ctx, c.Topic)
	if err != nil || state.Number > 0 {
		return false
	}
	u, _, err := c.Documents.Next(ctx, state.Documents)
	return err == nil && u != nil
}
