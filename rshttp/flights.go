package rshttp

import (
	"context"
	"sync"
)

const (
	// maxFlights bounds the flights that are under way or wait for their turn.
	maxFlights = 256

	// maxUnlistedFlights is the same for unlisted ranges, which have flights of
	// their own.
	maxUnlistedFlights = 32
)

// flights lets requests for the same thing share the work.
//
// A request never joins work that began before the request came: the result could
// lack a change that was there when it asked. It waits for that work to end,
// together with all others that come in the meantime, and one more flight serves
// them all. So each thing is worked on at most once at a time, with at most one
// flight waiting.
type flights struct {
	most int // flights at the same time

	// cancels says that work ends when the last waiting request has gone. Otherwise
	// it goes on, because its result is kept for the next request.
	cancels bool

	mu     sync.Mutex
	n      int                      // flights that have not landed
	next   map[string]*flight       // those that have not begun: requests may join them
	flying map[string]chan struct{} // closed when the flight has landed
}

// A flight is work that is shared.
type flight struct {
	cancel  context.CancelFunc
	waiting int           // requests
	landed  chan struct{} // closed when result and err are set
	over    bool          // the same, for those who hold the lock
	result  any
	err     error
}

// A job is the work that a flight does.
type job struct {
	begin func(context.Context) error // is called when it is this flight's turn
	work  func(context.Context) (any, error)
	share func(result any, n int) // if not nil, hands the result to n requests
}

func newFlights(most int, cancels bool) *flights {
	return &flights{
		most:    most,
		cancels: cancels,
		next:    make(map[string]*flight),
		flying:  make(map[string]chan struct{}),
	}
}

// do has j done for key and returns its result. If begin fails, work is not called.
// The contexts of both have the values of ctx, but not its end.
func (f *flights) do(ctx context.Context, key string, j job) (any, error) {
	f.mu.Lock()
	fl := f.next[key]
	if fl == nil {
		if f.n >= f.most {
			f.mu.Unlock()
			return nil, errBusy
		}
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		fl = &flight{cancel: cancel, landed: make(chan struct{})}
		f.next[key] = fl
		f.n++
		go f.fly(own, key, fl, j)
	}
	fl.waiting++
	f.mu.Unlock()
	select {
	case <-fl.landed:
	case <-ctx.Done():
		if f.leave(key, fl) {
			return nil, ctx.Err()
		}
	}
	return fl.result, fl.err
}

// leave reports whether a request has left fl before it landed.
func (f *flights) leave(key string, fl *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.over {
		return false
	}
	fl.waiting--
	if fl.waiting == 0 && f.cancels {
		f.close(key, fl)
		fl.cancel()
	}
	return true
}

// close lets no more requests join fl. It is called with mu held.
func (f *flights) close(key string, fl *flight) {
	if f.next[key] == fl {
		delete(f.next, key)
	}
}

func (f *flights) fly(ctx context.Context, key string, fl *flight, j job) {
	defer fl.cancel()
	var result any
	err := safely(func() (err error) {
		done, err := f.turn(ctx, key)
		if err != nil {
			return err
		}
		defer f.end(key, done)
		if err := j.begin(ctx); err != nil {
			return err
		}
		f.mu.Lock()
		f.close(key, fl)
		f.mu.Unlock()
		result, err = j.work(ctx)
		return err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close(key, fl)
	f.n--
	fl.result, fl.err, fl.over = result, err, true
	if err == nil && j.share != nil {
		j.share(result, fl.waiting)
	}
	close(fl.landed)
}

// turn waits until nobody works on key, and returns what to close when done.
func (f *flights) turn(ctx context.Context, key string) (chan struct{}, error) {
	done := make(chan struct{})
	for {
		f.mu.Lock()
		before := f.flying[key]
		if before == nil {
			f.flying[key] = done
			f.mu.Unlock()
			return done, nil
		}
		f.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *flights) end(key string, done chan struct{}) {
	f.mu.Lock()
	delete(f.flying, key)
	f.mu.Unlock()
	close(done)
}
