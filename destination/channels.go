package destination

import (
	"context"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// maxChannels is the maximum number of channels that are followed; Syncs follow the other sets.
const maxChannels = 100

// A channelKey identifies a channel and the way in which it is followed.
type channelKey struct {
	set        string
	capability resourcesync.Capability
	hub        bool   // by WebSub, otherwise by WebSocket
	address    string // of the topic or WebSocket
}

// A following is a channel that is being followed.
type following struct {
	stop         func()
	done         chan struct{}
	subscription *subscription // nil if it is a WebSocket
}

// listen follows the channels of sets, and no others.
func (f *follower) listen(ctx context.Context, sets []tree.Set) error {
	progresses := make(map[string]*progress)
	want := make(map[channelKey]channel)
	for _, set := range sets {
		p := f.progress[set.URI]
		if p == nil {
			p = &progress{}
		}
		p.set, progresses[set.URI] = set, p
		for _, ch := range set.Channels {
			if key := f.key(set.URI, &ch); key.address != "" && len(want) < maxChannels {
				want[key] = channel{set, ch, f.inbox, f.log}
			}
		}
	}
	f.progress = progresses
	for key, c := range f.channels {
		if _, ok := want[key]; !ok {
			delete(f.channels, key)
			f.running.Go(func() { f.leave(ctx, c) })
		}
	}
	for key, ch := range want {
		if f.channels[key] != nil {
			continue
		}
		if err := f.join(ctx, key, ch); err != nil {
			return err
		}
	}
	return nil
}

// key returns how a channel is followed. Its address is empty if it cannot be.
func (f *follower) key(set string, ch *tree.Channel) channelKey {
	if f.options.Callback != nil && ch.Topic != "" && (len(ch.Hubs) > 0 || ch.WebSocket == "") {
		return channelKey{set, ch.Capability, true, ch.Topic}
	}
	return channelKey{set, ch.Capability, false, ch.WebSocket}
}

// join begins to follow a channel.
func (f *follower) join(ctx context.Context, key channelKey, ch channel) error {
	ctx, stop := context.WithCancel(ctx)
	c := &following{stop: stop, done: make(chan struct{})}
	run, way := (&socket{ch, f.client.Transport(), f.Destination.options.userAgent(), f.messages}).run, "WebSocket"
	if key.hub {
		s, err := f.subscription(ctx, ch)
		if err != nil {
			stop()
			return err
		}
		c.subscription, run, way = s, s.run, "WebSub"
	}
	f.channels[key] = c
	go func() {
		defer close(c.done)
		run(ctx)
	}()
	f.log.Info("following a channel", "channel", key.capability, "by", way, "address", key.address)
	return nil
}

// subscription returns the subscription to a channel, with the callback and secret of an
// earlier process if there was one.
func (f *follower) subscription(ctx context.Context, ch channel) (*subscription, error) {
	callback := f.options.Callback
	stored, ok, err := f.state.Subscription(ch.Topic)
	if err != nil {
		return nil, err
	}
	if !ok || !callback.has(stored.Callback) {
		stored = newSubscription(ch.Topic, callback.url)
		if err := f.state.Write(ctx, func() error { return f.state.SaveSubscription(stored) }); err != nil {
			return nil, err
		}
	}
	reader := *f.newRun().reader
	s := &subscription{channel: ch, Subscription: stored, reader: &reader, events: make(chan event, 1)}
	callback.add(s)
	return s, nil
}

// leave ends the following of a channel. A subscription that could not be cancelled stays in
// the state, and is renewed by the next process.
func (f *follower) leave(ctx context.Context, c *following) {
	c.stop()
	<-c.done
	s := c.subscription
	if s == nil {
		return
	}
	cancelled := s.cancel(ctx)
	f.options.Callback.remove(s)
	if !cancelled {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.state.Write(context.WithoutCancel(ctx), func() error { return f.state.DeleteSubscription(s.Subscription.Topic) })
	if err != nil {
		f.log.Warn("the end of a subscription is not recorded", "topic", s.Topic, "error", err)
	}
}

// end leaves all channels.
func (f *follower) end(ctx context.Context) {
	var leaving sync.WaitGroup
	for _, c := range f.channels {
		leaving.Go(func() { f.leave(ctx, c) })
	}
	leaving.Wait()
	f.running.Wait()
}

// pushes reports whether the changes of a set are pushed.
func (f *follower) pushes(set string) bool {
	for key := range f.channels {
		if key.set == set && key.capability == resourcesync.ChangeNotification {
			return true
		}
	}
	return false
}
