package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
)

// pushTime is the limit within which a change that is pushed without faults must reach the copy. After
// faults, the limit is the interval between Syncs plus settleTime.
const (
	pushTime   = 3 * time.Minute
	settleTime = 10 * time.Minute
)

// follow runs an event such as "follow 1h 15m": the Destination follows the Source for an hour, with a
// Sync every 15 minutes. If nothing happened for long enough before the end, follow compares the copy.
func (w *World) follow(e Event) {
	duration, every, err := followTimes(e.Args)
	if err != nil {
		w.broken(fmt.Errorf("%v: %w", e, err))
		return
	}
	p, ctx, err := w.start()
	if err != nil {
		w.event("follow: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	began, status, rounds := time.Now(), 1, 2
	o := &destination.FollowOptions{Every: every, Report: func(r *destination.Report, err error) {
		status = exit(r, err)
		rounds++
		w.event("follow %d: exit %d: %d created, %d updated, %d deleted, %d failed, %d held, %v", p.number, status, r.Created, r.Updated, r.Deleted, r.Failed, r.Held, err)
		w.verdict.Runs++
	}}
	if w.hub != nil {
		if o.Callback, err = destination.NewCallback(callbackURL); err != nil {
			w.broken(err)
			return
		}
		w.setCallback(o.Callback)
		defer context.AfterFunc(ctx, w.leave)()
	}
	err = p.d.Follow(ctx, o)
	end := began.Add(duration)
	w.setCallback(nil)
	w.event("follow %d: %v", p.number, err)
	switch {
	case p.isDead():
		w.end()
	default:
		w.judgeCost(p.number, rounds+w.calls())
	}
	switch {
	case p.isDead():
	case err != nil:
		w.fail("follow", "Follow returns %v", err)
	case status == 0 && w.quiet(began, end) >= w.followLimit(began, every):
		w.compare()
	}
}

func followTimes(args []string) (duration, every time.Duration, err error) {
	if len(args) != 2 {
		return 0, 0, fmt.Errorf("two durations are needed")
	}
	if duration, err = time.ParseDuration(args[0]); err == nil {
		every, err = time.ParseDuration(args[1])
	}
	return duration, every, err
}

// setCallback sets the receiver of the hub's requests.
func (w *World) setCallback(c *destination.Callback) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.hub == nil:
		return
	case c == nil:
		w.hub.callback = nil
	default:
		w.hub.callback, w.hub.calls, w.hub.leaving = c, 0, false
	}
}

// leave records that the follower is ending.
func (w *World) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hub.leaving = true
}

// calls returns the number of authentic calls of the callback since the follower began. Each can cause
// one complete read.
func (w *World) calls() int {
	if w.hub == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hub.calls
}

// quiet returns the time before end without an event or a fault.
func (w *World) quiet(began, end time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := latest(began, w.lastFault)
	if n := len(w.log); n > 0 {
		last = latest(last, w.log[n-1].when)
	}
	return end.Sub(last)
}

// followLimit returns the time within which the copy must show a change.
func (w *World) followLimit(began time.Time, every time.Duration) time.Duration {
	if !w.documented() || w.RetryAfter > 0 {
		return 1 << 62
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hub != nil && w.lastFault.Before(began) && w.skew == w.Skew && !w.relocated().After(began) { // the topic has not moved
		return pushTime
	}
	return every + settleTime
}
