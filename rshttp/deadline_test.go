package rshttp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBounded: a bounded context ends in time for who waits for it and for who
// only asks, and with the one that it is made from.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, waited := withLazyDeadline(t.Context(), time.Second), withLazyDeadline(t.Context(), time.Second)
		defer asked.release()
		defer waited.release()
		derived, cancel := context.WithCancel(waited)
		defer cancel()
		if asked.Err() != nil || waited.Err() != nil || derived.Err() != nil {
			t.Error("ended at once")
		}
		started := time.Now()
		<-derived.Done()
		if d := time.Since(started); d != time.Second || waited.Err() != context.DeadlineExceeded || derived.Err() != context.DeadlineExceeded {
			t.Errorf("after %v: %v, %v", d, waited.Err(), derived.Err())
		}
		if asked.Err() != context.DeadlineExceeded {
			t.Errorf("nobody has waited: %v", asked.Err())
		}

		parent, end := context.WithCancel(t.Context())
		b := withLazyDeadline(parent, time.Hour)
		defer b.release()
		end()
		if b.Err() != context.Canceled {
			t.Error(b.Err())
		}
		<-b.Done()
	})
}
