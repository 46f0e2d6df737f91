package admission

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(8)
		for _, want := range []bool{true, true, false} {
			if l.TryAcquire(true) != want {
				t.Fatal("unlisted work does not have a quarter of the places")
			}
		}
		for range 6 {
			if !l.TryAcquire(false) {
				t.Fatal("listed work does not have the others")
			}
		}
		started := time.Now()
		if err := l.AcquireWithin(t.Context(), time.Second, false); !errors.Is(err, ErrBusy) || time.Since(started) != time.Second {
			t.Errorf("full: %v after %v", err, time.Since(started))
		}
		if err := l.AcquireWithin(t.Context(), -1, false); !errors.Is(err, ErrBusy) {
			t.Errorf("full, without waiting: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.AcquireWithin(gone, time.Second, true); !errors.Is(err, context.Canceled) {
			t.Errorf("nobody waits: %v", err)
		}
		l.Release(true)
		if err := l.AcquireWithin(t.Context(), time.Second, true); err != nil {
			t.Errorf("after a release: %v", err)
		}
	})
}

// work is a Job that takes a second and returns the number of its runs.
func work(mu *sync.Mutex, done *int) Job {
	return Job{
		Begin: func(context.Context) error { return nil },
		Work: func(context.Context) (any, error) {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			*done++
			return *done, nil
		},
	}
}

// TestGroup: requests never get the result of work that began before them, and share
// the work that begins after them.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu   sync.Mutex
			done int
			all  sync.WaitGroup
		)
		g := NewGroup(2, false)
		ask := func(want int) {
			all.Go(func() {
				if got, err := g.Do(t.Context(), "a", work(&mu, &done)); got != want || err != nil {
					t.Errorf("got %v, %v; want %d", got, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1)
		ask(2) // the first has begun
		ask(2)
		if _, err := g.Do(t.Context(), "b", work(&mu, &done)); !errors.Is(err, ErrBusy) {
			t.Errorf("a third call: %v", err)
		}
		all.Wait()
		if got, err := g.Do(t.Context(), "b", work(&mu, &done)); got != 3 || err != nil {
			t.Errorf("afterwards: %v, %v", got, err)
		}
	})
}

// TestGroupCancels: work ends with its last request only where the Job says so, and a
// panic is an error.
func TestGroupCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cancels := range []bool{true, false} {
			g := NewGroup(1, cancels)
			ended := make(chan error, 1)
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			_, err := g.Do(ctx, "a", Job{
				Begin: func(context.Context) error { return nil },
				Work: func(ctx context.Context) (any, error) {
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
					ended <- ctx.Err()
					return nil, nil
				},
			})
			leave()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a client that has left gets %v", err)
			}
			if err := <-ended; (err != nil) != cancels {
				t.Errorf("cancels: %v, the work ends with %v", cancels, err)
			}
			synctest.Wait()
			_, err = g.Do(t.Context(), "a", Job{Begin: func(context.Context) error { panic("defect") }})
			if err == nil || !strings.Contains(err.Error(), "defect") {
				t.Errorf("a panic: %v", err)
			}
		}
	})
}
