package rshttp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBounded: a bounded context ends in time, both for callers that wait on Done and
// for those that only call Err, and ends with its parent.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, waited := withLazyDeadline(t.Context(), time.Second), withLazyDeadline(t.Context(), time.Second)
		defer asked.release()
		defer waited.release()
		derived, cancel := context.WithCancel(waited)
		defer cancel()
		if asked.Err() != nil || waited.Err() != nil || derived.Err() != nil {
			t.Error("ended immediately")
		}
		started := time.Now()
		<-derived.Done()
		if d := time.Since(started); d != time.Second || waited.Err() != context.DeadlineExceeded || derived.Err() != context.DeadlineExceeded {
			t.Errorf("after %v: %v, %v", d, waited.Err(), derived.Err())
		}
		if asked.Err() != context.DeadlineExceeded {
			t.Errorf("without a waiting caller: %v", asked.Err())
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
