package sqlitedb

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// listening is a listener in a bubble, with a version that the test changes.
type listening struct {
	listener
	written chan struct{}
	current atomic.Int64
	polls   atomic.Int64
	woken   atomic.Int64
	armed   atomic.Bool
}

// listen runs test with a listener.
func listen(t *testing.T, reports bool, test func(t *testing.T, l *listening)) {
	synctest.Test(t, func(t *testing.T) {
		l := &listening{written: make(chan struct{}, 1)}
		l.listener = listener{
			written: l.written,
			arm:     func() bool { l.armed.Store(reports); return reports },
			version: func() (int64, error) { l.polls.Add(1); return l.current.Load(), nil },
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- l.run(ctx, func() { l.woken.Add(1) }) }()
		l.pass(0)
		l.wantWoken(t, 1)
		test(t, l)
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("run returned %v", err)
		}
	})
}

func (l *listening) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pollsIn returns the number of polls in the duration d.
func (l *listening) pollsIn(d time.Duration) int64 {
	before := l.polls.Load()
	l.pass(d)
	return l.polls.Load() - before
}

// write reports a write, as the system would once after arm.
func (l *listening) write() {
	if l.armed.Swap(false) {
		l.written <- struct{}{}
	}
}

func (l *listening) wantWoken(t *testing.T, want int) {
	t.Helper()
	if got := l.woken.Load(); got != int64(want) {
		t.Errorf("woken %d times, want %d", got, want)
	}
}

func TestListenerIsIdle(t *testing.T) {
	listen(t, true, func(t *testing.T, l *listening) {
		l.pass(time.Minute)
		if polls := l.pollsIn(time.Minute); polls > 61 {
			t.Errorf("%d polls in an idle minute", polls)
		}
		l.wantWoken(t, 1)
		l.write()
		l.current.Add(1)
		l.pass(minPoll)
		l.wantWoken(t, 2)
		if polls := l.pollsIn(time.Second); polls > 20 {
			t.Errorf("%d polls in the second after a commit", polls)
		}
	})
}

// TestListenerWaitsForTheDisk has commits that are visible long after the last write.
func TestListenerWaitsForTheDisk(t *testing.T) {
	for _, takes := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second} {
		listen(t, true, func(t *testing.T, l *listening) {
			l.pass(time.Minute)
			for i := range 5 {
				l.write()
				l.pass(takes)
				l.current.Add(1)
				l.pass(min(takes/2+minPoll, maxPoll))
				l.wantWoken(t, 2+i)
				l.pass(time.Minute)
			}
			if polls := l.pollsIn(time.Minute); polls > 61 {
				t.Errorf("commits take %v: %d polls in an idle minute", takes, polls)
			}
		})
	}
}

// TestListenerWithBusyWriter has continuous writes.
func TestListenerWithBusyWriter(t *testing.T) {
	listen(t, true, func(t *testing.T, l *listening) {
		before := l.polls.Load()
		for range 2000 {
			l.write()
			l.pass(time.Millisecond)
		}
		if polls, most := l.polls.Load()-before, int64(2*time.Second/minPoll)+2; polls > most {
			t.Errorf("%d polls in two seconds, want %d at most", polls, most)
		}
	})
}

// TestListenerWithManyCommits polls less while each poll finds a commit.
func TestListenerWithManyCommits(t *testing.T) {
	listen(t, true, func(t *testing.T, l *listening) {
		before := l.polls.Load()
		for range 2000 {
			l.write()
			l.pass(time.Millisecond)
			l.current.Add(1)
		}
		if polls, most := l.polls.Load()-before, int64(2*time.Second/pollInterval)+busyPolls; polls > most {
			t.Errorf("%d polls in two seconds, want %d at most", polls, most)
		}
		l.pass(pollInterval)
		woken := l.woken.Load()
		l.pass(time.Minute)
		l.wantWoken(t, int(woken))
		l.write()
		l.current.Add(1)
		l.pass(minPoll)
		l.wantWoken(t, int(woken)+1)
	})
}

func TestListenerWithoutReports(t *testing.T) {
	listen(t, false, func(t *testing.T, l *listening) {
		l.pass(time.Minute)
		l.current.Add(1)
		l.pass(pollInterval)
		l.wantWoken(t, 2)
	})
}

// TestListenerWithoutExpectedReports is on a system that promises reports but sends
// none.
func TestListenerWithoutExpectedReports(t *testing.T) {
	listen(t, true, func(t *testing.T, l *listening) {
		for i := range maxMissed {
			l.pass(time.Minute)
			l.current.Add(1)
			l.pass(maxPoll)
			l.wantWoken(t, 2+i)
		}
		l.pass(time.Minute)
		l.current.Add(1)
		l.pass(pollInterval)
		l.wantWoken(t, 2+maxMissed)
	})
}
