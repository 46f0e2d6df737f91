package rshttp

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// turns bound work of one kind. Any client can request any range of keys, so work
// for unlisted ranges gets at most a quarter of the turns, and at least one.
type turns struct{ all, unlisted *semaphore.Weighted }

func newTurns(n int) turns {
	return turns{semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(1, n/4)))}
}

// tryAcquire takes a turn if one is free.
func (t turns) tryAcquire(unlisted bool) bool {
	if unlisted && !t.unlisted.TryAcquire(1) {
		return false
	}
	if t.all.TryAcquire(1) {
		return true
	}
	if unlisted {
		t.unlisted.Release(1)
	}
	return false
}

// acquire waits for a turn. Work for unlisted ranges waits for its own turns first:
// of those that wait for a turn of all, at most a quarter are unlisted.
func (t turns) acquire(ctx context.Context, unlisted bool) error {
	if unlisted {
		if err := t.unlisted.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	err := t.all.Acquire(ctx, 1)
	if err != nil && unlisted {
		t.unlisted.Release(1)
	}
	return err
}

func (t turns) release(unlisted bool) {
	t.all.Release(1)
	if unlisted {
		t.unlisted.Release(1)
	}
}

// admit waits for a turn, for a bounded time.
func (s *Source) admit(ctx context.Context, t turns, unlisted bool) error {
	if t.tryAcquire(unlisted) {
		return nil
	}
	if s.options.Wait < 0 {
		return errBusy
	}
	waiting, cancel := context.WithTimeout(ctx, s.options.Wait)
	defer cancel()
	if t.acquire(waiting, unlisted) != nil {
		if err := ctx.Err(); err != nil {
			return err // no request waits any more
		}
		return errBusy
	}
	return nil
}
