package background

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSafely(t *testing.T) {
	failed := errors.New("failed")
	if err := Safely(func() error { return failed }); err != failed {
		t.Errorf("the error is %v", err)
	}
	err := Safely(func() error { panic("defect") })
	if err == nil || !strings.Contains(err.Error(), "panic: defect") || !strings.Contains(err.Error(), "TestSafely") {
		t.Errorf("the error of a panic is %v, without what or where", err)
	}
}

func TestSignal(t *testing.T) {
	c := make(chan struct{}, 1)
	Signal(c)
	Signal(c) // does not block
	<-c
	if len(c) != 0 {
		t.Error("two signals are two tokens")
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("slept %v, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Minute); err != context.DeadlineExceeded || time.Since(began) != time.Minute+time.Second {
			t.Errorf("slept until %v, %v", time.Since(began), err)
		}
		if err := Sleep(ctx, 0); err == nil {
			t.Error("no error of a context that is done")
		}
	})
}

// TestWatch has a watcher end in three ways, and then run until the context ends.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Second)
		defer cancel()
		var lines strings.Builder
		began, calls, wakes := time.Now(), 0, 0
		Watch(ctx, func(ctx context.Context, wake func()) error {
			switch calls++; calls {
			case 1:
				wake()
				return errors.New("failed")
			case 2:
				panic("defect")
			case 3:
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}, func() { wakes++ }, slog.New(slog.NewTextHandler(&lines, nil)), "watching has ended")
		if calls != 4 || wakes != 4 || time.Since(began) != 31*time.Second {
			t.Errorf("watched %d times, woken %d times, for %v", calls, wakes, time.Since(began))
		}
		if text := lines.String(); strings.Count(text, "watching has ended") != 3 || !strings.Contains(text, "error=failed") || !strings.Contains(text, "panic: defect") {
			t.Errorf("logged %s", text)
		}
	})
}
