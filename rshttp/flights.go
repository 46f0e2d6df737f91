package rshttp

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// maxFlights bounds the flights that are under way or wait for their turn,
// whoever has asked for them and may have gone since.
const maxFlights = 256

// flights lets requests for the same thing share the work.
//
// A request never joins work that had begun before it came: what it would get
// could lack a change that was there when it asked. It waits for that work to
// end, together with all others that come in the meantime, and one more flight
// serves them all. So each thing is worked on at most once at a time, with at
// most one flight waiting.
type flights struct {
	group singleflight.Group

	waiting atomic.Int64

	mu     sync.Mutex
	flying map[string]chan struct{}
}

// do has work done for key and returns its result. The work goes on if the
// caller's ctx ends, since others may wait for it. begin is called when it is
// this flight's turn; work is called if it returns nil.
func (f *flights) do(ctx context.Context, key string, begin func() error, work func() (any, error)) (any, error) {
	if f.waiting.Load() >= maxFlights {
		return nil, errBusy
	}
	ch := f.group.DoChan(key, func() (v any, err error) {
		f.waiting.Add(1)
		defer f.waiting.Add(-1)
		err = safely(func() (err error) {
			done := f.turn(key)
			defer f.end(key, done)
			if err := begin(); err != nil {
				return err
			}
			f.group.Forget(key)
			v, err = work()
			return err
		})
		return v, err
	})
	select {
	case res := <-ch:
		return res.Val, res.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// turn waits until nobody works on key, and returns what to close when done.
func (f *flights) turn(key string) chan struct{} {
	done := make(chan struct{})
	for {
		f.mu.Lock()
		before := f.flying[key]
		if before == nil {
			if f.flying == nil {
				f.flying = make(map[string]chan struct{})
			}
			f.flying[key] = done
			f.mu.Unlock()
			return done
		}
		f.mu.Unlock()
		<-before
	}
}

func (f *flights) end(key string, done chan struct{}) {
	f.mu.Lock()
	delete(f.flying, key)
	f.mu.Unlock()
	close(done)
}
