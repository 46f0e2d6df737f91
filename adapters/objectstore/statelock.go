package objectstore

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/static"
)

// A TryLock runs f while it holds a lock that all processes that write to a bucket share, and
// reports whether the lock was free. The context of f ends when the lock is lost, and f then
// returns. The method TryLock of a store of package sqlstore is one, with a name for each place.
type TryLock func(ctx context.Context, f func(ctx context.Context) error) (bool, error)

// A stateLock is a lock that a Store holds.
type stateLock struct {
	ctx     context.Context    // ends when the lock is lost or given back
	release context.CancelFunc // gives it back
	done    chan struct{}      // closed when it has been given back
}

// hold takes the lock. It fails with static.ErrLocked if the lock is not free.
func (try TryLock) hold(ctx context.Context) (*stateLock, error) {
	l := &stateLock{done: make(chan struct{})}
	whole, giveUp := context.WithCancel(context.WithoutCancel(ctx)) // Unlock ends the lock, not ctx
	taken, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(l.done)
		defer giveUp()
		free, err := try(whole, func(ctx context.Context) error {
			l.ctx, l.release = context.WithCancel(ctx)
			close(taken)
			<-l.ctx.Done()
			return nil
		})
		if err == nil && !free {
			err = static.ErrLocked
		}
		failed <- err
	}()
	select {
	case <-taken:
		return l, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
	}
	giveUp()
	select {
	case <-taken:
		l.release()
	case <-l.done:
	}
	<-l.done
	return nil, ctx.Err()
}

// giveBack gives the lock back. l may be nil.
func (l *stateLock) giveBack() {
	if l != nil {
		l.release()
		<-l.done
	}
}

// check returns an error if the lock has been lost. l may be nil.
func (l *stateLock) check() error {
	if l == nil || l.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the lock in the state: %w: %w", static.ErrLockLost, context.Cause(l.ctx))
}

// during returns a context that also ends when the lock is lost. l may be nil.
func (l *stateLock) during(ctx context.Context) (context.Context, func()) {
	if l == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
