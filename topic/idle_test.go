package topic

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// told has one update from the start.
type told struct{ err error }

func (d *told) Next(_ context.Context, known string) (*Update, string, error) {
	if d.err != nil || known != "" {
		return nil, known, d.err
	}
	u := update(capabilityList, "resourcelist.xml")
	return &u, "1", nil
}

// TestD12_PublisherIsNotRun reports changes that nobody announces, whether or not it
// is asked for its health, and nothing as long as another process announces them.
func TestD12_PublisherIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // the handler's lock is its own
		var log bytes.Buffer
		write := func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}
		outbox := pushlog.NewMemory()
		publisher := func(set *memory.Set) *Publisher {
			t.Helper()
			p, err := NewPublisher(outbox, []Channel{changeChannel(set)}, &Options{Logger: slog.New(slog.NewTextHandler(writerFunc(write), nil))})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		lines := func(n int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Count(log.String(), "no process publishes them"); got != n {
				t.Errorf("%d lines, expected %d: %s", got, n, &log)
			}
		}
		closed := publisher(memory.New(&memory.Options{AwaitScan: true}))
		time.Sleep(time.Hour)
		if err := closed.Health(t.Context()); err != nil {
			t.Errorf("a set that is not ready: %v", err)
		}

		docs := &told{}
		only, err := NewPublisher(pushlog.NewMemory(), []Channel{frameworkChannel(docs)}, &Options{Logger: slog.New(slog.NewTextHandler(writerFunc(write), nil))})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		for _, docs.err = range []error{resourcesync.ErrNotReady, nil} {
			if err := only.Health(t.Context()); errors.Is(err, errNotRun) != (docs.err == nil) {
				t.Errorf("documents, %v: %v", docs.err, err)
			}
		}
		lines(1)
		if state, err := only.store.State(t.Context(), frameworkTopic); err != nil || !state.Equal(pushlog.State{}) {
			t.Errorf("Health has begun the topic: %+v, %v", state, err)
		}
		_, stopped := run(t, only.store, only.channels, nil)
		time.Sleep(time.Minute)
		stopped()
		if err := only.Health(t.Context()); err != nil {
			t.Errorf("announced: %v", err)
		}
		log.Reset()

		set := memory.New(nil)
		put(t, set, 1)
		p := publisher(set)
		p.ExpectRun()
		p.ExpectRun()
		if err := p.Health(t.Context()); err != nil {
			t.Errorf("at once: %v", err)
		}
		lines(0)
		time.Sleep(idleTimeout)
		synctest.Wait()
		lines(1)
		if err := p.Health(t.Context()); !errors.Is(err, errNotRun) {
			t.Errorf("%v", err)
		}
		lines(1)

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			publisher(set).Run(ctx) // as another process
		}()
		time.Sleep(time.Minute)
		put(t, set, 2)
		p.ExpectRun()
		if err := p.Health(t.Context()); err != nil {
			t.Errorf("another process runs: %v", err)
		}
		time.Sleep(time.Minute)
		stop()
		<-done
		put(t, set, 3)
		if err := p.Health(t.Context()); err == nil {
			time.Sleep(idleTimeout)
		}
		if err := p.Health(t.Context()); !errors.Is(err, errNotRun) {
			t.Errorf("it has stopped: %v", err)
		}
		lines(2)
	})
}
