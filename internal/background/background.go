// Package background holds helpers for the long-running goroutines of a Source.
package background

import (
	"context"
	"fmt"
	"runtime/debug"
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
