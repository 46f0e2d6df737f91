package rshttp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A questioned set counts how often it is asked for its state.
type questioned struct {
	*memory.Set
	stats atomic.Int64
}

func (q *questioned) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	q.stats.Add(1)
	return q.Set.Stat(ctx, r)
}

// TestIdleChannels: the channels of a set that reports its changes are woken by them. While
// nothing changes, the set is asked a few times a minute, because a Source may have thousands
// of sets.
func TestIdleChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &questioned{Set: memory.New(nil)}
		src := newSource(t, &rshttp.Options{Hub: &hub.Options{}}, rshttp.Set{Provider: set})
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- src.Run(ctx) }()
		time.Sleep(15 * time.Minute)
		before := set.stats.Load()
		const minutes = 10
		time.Sleep(minutes * time.Minute)
		if n := set.stats.Load() - before; n > minutes*10 {
			t.Errorf("the set has been asked for its state %d times in %d minutes", n, minutes)
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
