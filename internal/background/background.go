// Package background holds helpers for the long-running goroutines of a Source.
package background

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Safely calls f and returns its error. A panic in f becomes an error with the stack,
// so that a defect of a provider does not end the process.
func Safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// Signal puts a token into c, which has a buffer for one, unless one is there.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep waits for d. It returns the error of ctx if ctx is done before that.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// restart is the pause before something that has ended is watched again.
const restart = 10 * time.Second

// Watch calls watch with wake until ctx is done. Whenever watch ends before, Watch logs the
// message and the error, calls watch again after a pause, and also calls wake, because
// changes in between may have been missed.
func Watch(ctx context.Context, watch func(ctx context.Context, wake func()) error, wake func(), log *slog.Logger, message string) {
	for {
		err := Safely(func() error { return watch(ctx, wake) })
		if ctx.Err() != nil {
			return
		}
		log.LogAttrs(ctx, slog.LevelWarn, message, slog.Any("error", err))
		if Sleep(ctx, restart) != nil {
			return
		}
		wake()
	}
}

// A Bell wakes its listeners. The zero value is ready for use. It is safe for
// concurrent use.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// Ring wakes all listeners without waiting for them.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		Signal(c)
	}
}

// Listen calls wake in this goroutine: first at once, then after each Ring. Several
// Rings may lead to a single call. Once ctx is done, Listen no longer calls wake and returns
// the error of ctx.
func (b *Bell) Listen(ctx context.Context, wake func()) error {
	c := make(chan struct{}, 1)
	c <- struct{}{} // for changes before Listen
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = map[chan struct{}]struct{}{}
	}
	b.listeners[c] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.listeners, c)
		b.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
		case <-c:
		}
		if ctx.Err() != nil { // also if both were ready
			return ctx.Err()
		}
		wake()
	}
}
