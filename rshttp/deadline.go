package rshttp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A lazyDeadline is a context whose time limit begins when Deadline or Done is first called. It
// starts a timer only when Done is called. A request that is answered from the cache needs
// neither, and would otherwise spend a third of its time on the clock and the timer.
type lazyDeadline struct {
	context.Context
	limit    time.Duration
	begun    sync.Once
	deadline time.Time // see until

	once   sync.Once
	timed  atomic.Pointer[context.Context] // nil until the first wait
	cancel context.CancelFunc
}

// withLazyDeadline returns ctx with a deadline at limit after the first use. The caller must
// call release.
func withLazyDeadline(ctx context.Context, limit time.Duration) *lazyDeadline {
	return &lazyDeadline{Context: ctx, limit: limit, cancel: func() {}}
}

// until returns the deadline.
func (d *lazyDeadline) until() time.Time {
	d.begun.Do(func() { d.deadline = time.Now().Add(d.limit) })
	return d.deadline
}

func (d *lazyDeadline) begin() context.Context {
	d.once.Do(func() {
		ctx, cancel := context.WithDeadline(d.Context, d.until())
		d.cancel = cancel
		d.timed.Store(&ctx)
	})
	return d.now()
}

func (d *lazyDeadline) now() context.Context {
	if ctx := d.timed.Load(); ctx != nil {
		return *ctx
	}
	return d.Context
}

// release stops the timer, if any, and ends the context.
func (d *lazyDeadline) release() {
	d.once.Do(func() {})
	d.cancel()
}

func (d *lazyDeadline) Deadline() (time.Time, bool) {
	if earlier, ok := d.Context.Deadline(); ok && earlier.Before(d.until()) {
		return earlier, true
	}
	return d.until(), true
}

func (d *lazyDeadline) Done() <-chan struct{} { return d.begin().Done() }

func (d *lazyDeadline) Err() error {
	if err := d.now().Err(); err != nil {
		return err
	}
	if !time.Now().Before(d.until()) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. It lets contexts derived from d find the context of the
// timer, so that they need no goroutine to end with it.
func (d *lazyDeadline) Value(key any) any { return d.now().Value(key) }
