package rshttp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A bounded context has a deadline. It has a timer only once somebody waits for its
// end, which those who answer a request from memory never do: they would spend a
// tenth of their time on it.
type bounded struct {
	context.Context
	deadline time.Time

	once   sync.Once
	timed  atomic.Pointer[context.Context] // nil until somebody waits
	cancel context.CancelFunc
}

// bound returns ctx with an end after limit. The caller calls release.
func bound(ctx context.Context, limit time.Duration) *bounded {
	return &bounded{Context: ctx, deadline: time.Now().Add(limit), cancel: func() {}}
}

func (b *bounded) begin() context.Context {
	b.once.Do(func() {
		ctx, cancel := context.WithDeadline(b.Context, b.deadline)
		b.cancel = cancel
		b.timed.Store(&ctx)
	})
	return b.now()
}

// now returns what b is at the moment.
func (b *bounded) now() context.Context {
	if ctx := b.timed.Load(); ctx != nil {
		return *ctx
	}
	return b.Context
}

// release ends the timer, and what waits for it, if there is one.
func (b *bounded) release() {
	b.once.Do(func() {})
	b.cancel()
}

// Deadline implements context.Context.
func (b *bounded) Deadline() (time.Time, bool) {
	if d, ok := b.Context.Deadline(); ok && d.Before(b.deadline) {
		return d, true
	}
	return b.deadline, true
}

// Done implements context.Context.
func (b *bounded) Done() <-chan struct{} { return b.begin().Done() }

// Err implements context.Context.
func (b *bounded) Err() error {
	if err := b.now().Err(); err != nil {
		return err
	}
	if !time.Now().Before(b.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. By it, contexts that are made from b and have
// waited for Done find the timer's, and need no goroutine to end with it.
func (b *bounded) Value(key any) any { return b.now().Value(key) }
