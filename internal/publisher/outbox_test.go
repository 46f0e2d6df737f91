package publisher

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A failing outbox fails on demand.
type failing struct {
	pushlog.Log
	add, save func() error
}

func (f *failing) SaveHubCursor(ctx context.Context, q pushlog.HubCursor) error {
	if f.save != nil {
		if err := f.save(); err != nil {
			return err
		}
	}
	return f.Log.SaveHubCursor(ctx, q)
}

func (f *failing) Append(ctx context.Context, n pushlog.Notification, before, next pushlog.State) error {
	if f.add != nil {
		if err := f.add(); err != nil {
			return err
		}
	}
	return f.Log.Append(ctx, n, before, next)
}

// TestOutboxFails: a failing outbox is reported, nothing is lost, and nothing is sent
// repeatedly.
func TestOutboxFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("the disk is full")
		var broken atomic.Bool
		fail := func() error {
			if broken.Load() {
				return full
			}
			return nil
		}
		h := newRecorder(nil)
		set, outbox := memory.New(nil), pushlog.NewMemory()
		p, stop := run(t, &failing{Log: outbox, save: fail}, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Second)
		broken.Store(true)
		put(t, set, 1)
		time.Sleep(time.Hour)
		if n := len(h.all()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
		if err := p.Health(t.Context()); !errors.Is(err, full) {
			t.Errorf("health: %v", err)
		}
		broken.Store(false)
		time.Sleep(time.Hour)
		if err := p.Health(t.Context()); err != nil {
			t.Errorf("health: %v", err)
		}
		put(t, set, 2)
		time.Sleep(time.Minute)
		if n := len(h.all()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

// A handedOver outbox is led by this process until another one leads it for good.
type handedOver struct {
	pushlog.Log
	over chan struct{} // closed when the other one begins
}

func (h handedOver) Lead(ctx context.Context, f func(context.Context) error) (bool, error) {
	select {
	case <-h.over:
		return false, nil
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-h.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return h.Log.Lead(ctx, f)
}

// TestFailureHandedOver: a process is healthy again when another one takes over the
// failed work, and unhealthy when it has the work itself.
func TestFailureHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		full := errors.New("the disk is full")
		add := func() error {
			if broken.Load() {
				return full
			}
			return nil
		}
		var log bytes.Buffer
		h := newRecorder(nil)
		o := inBubble(h, nil)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		set := memory.New(nil)
		over := make(chan struct{})
		p, stop := run(t, handedOver{&failing{Log: pushlog.NewMemory(), add: add}, over}, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, o)
		defer stop()
		time.Sleep(time.Second)
		for _, last := range []bool{false, true} {
			broken.Store(true)
			put(t, set, 1)
			time.Sleep(time.Hour)
			if err := p.Health(t.Context()); !errors.Is(err, full) {
				t.Errorf("health: %v", err)
			}
			if last {
				close(over)
			} else {
				broken.Store(false)
			}
			time.Sleep(time.Hour)
			if err := p.Health(t.Context()); err != nil {
				t.Errorf("health, handed over %v: %v", last, err)
			}
		}
		stop()
		if s := log.String(); strings.Count(s, "publishing failed") != 2 || strings.Count(s, "publishing works again") != 1 {
			t.Errorf("the log: %s", s)
		}
	})
}

// A stuck journal does not return from reads while it is told so. It can also be slow.
type stuck struct {
	*memory.Set
	hold atomic.Pointer[chan struct{}]
	slow atomic.Int64 // a time.Duration
}

func (s *stuck) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		if hold := s.hold.Load(); hold != nil {
			<-*hold
		}
		time.Sleep(time.Duration(s.slow.Load()))
		s.Set.Changes(ctx, iv)(yield)
	}
}

// TestStuckJournal: while a journal cannot be read to its end, the publisher reports
// that nothing is published. Then it publishes everything.
func TestStuckJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		set := &stuck{Set: memory.New(nil)}
		p, stop := run(t, pushlog.NewMemory(), []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Second)
		hold := make(chan struct{})
		set.hold.Store(&hold)
		put(t, set.Set, 1)
		time.Sleep(stuckAfter / 2)
		if err := p.Health(t.Context()); err != nil {
			t.Errorf("health, after a while: %v", err)
		}
		time.Sleep(stuckAfter)
		if err := p.Health(t.Context()); !errors.Is(err, errStuck) {
			t.Errorf("health: %v", err)
		}
		if status, err := p.Status(t.Context()); err != nil || status.Topics[0].Error == "" {
			t.Errorf("status: %+v, %v", status, err)
		}
		set.hold.Store(nil)
		close(hold)
		time.Sleep(time.Second)
		if err := p.Health(t.Context()); err != nil {
			t.Errorf("health, in the end: %v", err)
		}
		if n := len(h.all()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// TestSlowJournal: a journal with many changes that is read slowly is not stuck.
func TestSlowJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := inBubble(newRecorder(nil), nil)
		o.FlushChanges = 1
		set := &stuck{Set: memory.New(nil)}
		p, stop := run(t, pushlog.NewMemory(), []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, o)
		defer stop()
		time.Sleep(time.Second)
		set.slow.Store(int64(stuckAfter / 2))
		const n = 20
		for i := range n {
			put(t, set.Set, i)
		}
		for range n / 2 * 50 {
			time.Sleep(stuckAfter / 50)
			if err := p.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if told := p.Counters().Notifications; told < n-2 {
			t.Errorf("%d notifications", told)
		}
	})
}
