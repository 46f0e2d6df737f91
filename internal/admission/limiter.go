// Package admission bounds the work that requests cause, and shares it among them. Any
// client can request any range of keys. Work for ranges that no document lists is
// unlisted, and has lower priority.
package admission

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrBusy says that a request was not admitted in time.
var ErrBusy = errors.New("too many requests are being worked on")

// A Limiter bounds concurrent work of one kind. Unlisted work gets at most a quarter of
// the places, and at least one.
type Limiter struct{ all, unlisted *semaphore.Weighted }

// NewLimiter returns a Limiter with n places.
func NewLimiter(n int) Limiter {
	return Limiter{semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(1, n/4)))}
}

// TryAcquire takes a place if one is free. The caller releases it.
func (l Limiter) TryAcquire(unlisted bool) bool {
	if unlisted && !l.unlisted.TryAcquire(1) {
		return false
	}
	if l.all.TryAcquire(1) {
		return true
	}
	if unlisted {
		l.unlisted.Release(1)
	}
	return false
}

// Acquire waits for a place until ctx ends. Unlisted work waits for one of its own
// places first, so at most a quarter of the work that waits for all is unlisted.
func (l Limiter) Acquire(ctx context.Context, unlisted bool) error {
	if unlisted {
		if err := l.unlisted.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	err := l.all.Acquire(ctx, 1)
	if err != nil && unlisted {
		l.unlisted.Release(1)
	}
	return err
}

// AcquireWithin waits for a place for a limited time, not at all if the limit is
// negative. Then it returns [ErrBusy].
func (l Limiter) AcquireWithin(ctx context.Context, limit time.Duration, unlisted bool) error {
	if l.TryAcquire(unlisted) {
		return nil
	}
	if limit < 0 {
		return ErrBusy
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if l.Acquire(waiting, unlisted) != nil {
		if err := ctx.Err(); err != nil {
			return err // no request waits any more
		}
		return ErrBusy
	}
	return nil
}

// Release returns a place.
func (l Limiter) Release(unlisted bool) {
	l.all.Release(1)
	if unlisted {
		l.unlisted.Release(1)
	}
}
