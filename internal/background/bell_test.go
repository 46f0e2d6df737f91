package background

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bell
		b.Ring() // nobody listens
		ctx, cancel := context.WithCancel(t.Context())
		calls, busy := 0, make(chan struct{})
		close(busy)
		done := make(chan error)
		go func() {
			done <- b.Listen(ctx, func() {
				calls++
				<-busy
			})
		}()
		heard := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if calls != want {
				t.Errorf("%s: woken %d times, want %d", when, calls, want)
			}
		}
		heard("at the beginning", 1)
		b.Ring()
		heard("once", 2)

		busy = make(chan struct{})
		b.Ring()
		heard("before it is busy", 3)
		b.Ring()
		b.Ring()
		heard("while it is busy", 3)
		close(busy)
		heard("once for all that it has not heard", 4)

		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
		if len(b.listeners) != 0 {
			t.Error("a waiter that has left is still registered")
		}
	})
}

// A wake that ends the listening is the last one, even if the bell has rung meanwhile.
func TestBellEndsAtOnce(t *testing.T) {
	for range 100 { // select chooses at random
		var b Bell
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		if err := b.Listen(ctx, func() {
			calls++
			b.Ring()
			cancel()
		}); err != context.Canceled || calls != 1 {
			t.Fatalf("woken %d times, then %v", calls, err)
		}
	}
}
