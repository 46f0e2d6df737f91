package destination

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// maxChannels is the maximum number of channels that are followed; Syncs follow the other sets.
const maxChannels = 100

// A channelKey identifies a channel and the way in which it is followed.
type channelKey struct {
	hub     bool   // by WebSub, otherwise by WebSocket
	address string // of the topic or WebSocket
}

// A use is a Capability List that names a channel. Each set should have its own channels
// (Change Notification 1.0.1, section 2). If a Source breaks this rule, each channel is
// followed once, for all of its sets.
type use struct {
	set        string
	capability resourcesync.Capability
}

// A following is a channel that is being followed.
type following struct {
	key          channelKey
	uses         []use
	stop         func()
	done         chan struct{}
	subscription *subscription // nil if it is a WebSocket
}

// sets returns the URIs of the sets that use a channel.
func (c *following) sets() (uris []string) {
	for _, u := range c.uses {
		if !slices.Contains(uris, u.set) {
			uris = append(uris, u.set)
		}
	}
	return uris
}

// carries reports whether a Capability List uses the channel for a capability.
func (c *following) carries(capability resourcesync.Capability) bool {
	return slices.ContainsFunc(c.uses, func(u use) bool { return u.capability == capability })
}

// listen follows the channels of sets, and no others.
func (f *follower) listen(ctx context.Context, sets []tree.Set) error {
	progresses := make(map[string]*progress)
	want := make(map[channelKey]tree.Channel)
	uses := make(map[channelKey][]use)
	for _, set := range sets {
		p := f.progress[set.URI]
		if p == nil {
			p = &progress{}
		}
		p.set, progresses[set.URI] = set, p
		for _, ch := range set.Channels {
			key := f.key(&ch)
			known, ok := want[key]
			switch {
			case key.address == "" || !ok && len(want) >= maxChannels:
				continue
			case !ok || len(known.Hubs) == 0:
				want[key] = ch
			}
			uses[key] = append(uses[key], use{set.URI, ch.Capability})
		}
	}
	f.progress = progresses
	for key, c := range f.channels {
		if c.uses = uses[key]; len(c.uses) == 0 {
			delete(f.channels, key)
			f.running.Go(func() { f.leave(ctx, c) })
		}
	}
	for key, ch := range want {
		if f.channels[key] != nil {
			continue
		}
		if err := f.join(ctx, channel{key, ch, f.inbox, f.log, &f.watch}, uses[key]); err != nil {
			return err
		}
	}
	f.logPolled(sets)
	return nil
}

// logPolled logs how many sets no channel pushes, if the number has changed: their changes are
// noticed only by the Syncs. It also logs whether one of them has a hub that a Callback would use.
func (f *follower) logPolled(sets []tree.Set) {
	pushed := make(map[string]bool)
	for _, c := range f.channels {
		for _, u := range c.uses {
			pushed[u.set] = pushed[u.set] || u.capability == resourcesync.ChangeNotification
		}
	}
	polled, hub := 0, false
	for _, set := range sets {
		if pushed[set.URI] {
			continue
		}
		polled++
		hub = hub || f.options.Callback == nil && slices.ContainsFunc(set.Channels, func(ch tree.Channel) bool { return len(ch.Hubs) > 0 })
	}
	if polled > 0 && polled != f.polled {
		f.log.Info("polling sets without a channel", "sets", polled, "every", f.options.Every, "unusedHub", hub)
	}
	f.polled = polled
}

// key returns the key of a channel. Its address is empty if the channel cannot be
// followed.
func (f *follower) key(ch *tree.Channel) channelKey {
	if f.options.Callback != nil && ch.Topic != "" && (len(ch.Hubs) > 0 || ch.WebSocket == "") {
		return channelKey{true, ch.Topic}
	}
	return channelKey{false, ch.WebSocket}
}

// join begins to follow a channel.
func (f *follower) join(ctx context.Context, ch channel, uses []use) error {
	ctx, stop := context.WithCancel(ctx)
	c := &following{key: ch.key, uses: uses, stop: stop, done: make(chan struct{})}
	run, way := (&socket{ch, f.client.Transport(), f.messages}).run, "WebSocket"
	if ch.key.hub {
		s, err := f.subscription(ctx, ch)
		if err != nil {
			stop()
			return err
		}
		c.subscription, run, way = s, s.run, "WebSub"
	}
	f.channels[ch.key] = c
	f.watch.join(&ch)
	go func() {
		defer close(c.done)
		run(ctx)
	}()
	f.log.Info("following a channel", "channel", ch.Capability, "by", way, "address", ch.key.address)
	return nil
}

// subscription returns the subscription to a channel, with the callback and secret of an
// earlier process if there was one.
func (f *follower) subscription(ctx context.Context, ch channel) (*subscription, error) {
	mux := f.options.Callback.mux
	stored, ok, err := f.state.Subscription(ch.Topic)
	if err != nil {
		return nil, err
	}
	if !ok || !strings.HasPrefix(stored.Callback, mux.URL) {
		stored = newSubscription(ch.Topic, mux.URL)
		if err := f.state.Write(ctx, func() error { return f.state.SaveSubscription(stored) }); err != nil {
			return nil, err
		}
	}
	reader := *f.newRun().reader
	s := &subscription{
		channel: ch, Subscription: stored, reader: &reader, events: make(chan event, 1), deliveries: f.options.Callback.deliveries,
	}
	mux.Set(path.Base(s.Callback), s)
	return s, nil
}

// leave ends the following of a channel. A subscription that could not be cancelled stays in
// the state, and is renewed by the next process.
func (f *follower) leave(ctx context.Context, c *following) {
	c.stop()
	<-c.done
	f.watch.leave(c.key)
	s := c.subscription
	if s == nil {
		return
	}
	cancelled := s.cancel(ctx)
	f.options.Callback.mux.Remove(path.Base(s.Callback), s)
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
	for _, c := range f.channels {
		if slices.Contains(c.uses, use{set, resourcesync.ChangeNotification}) {
			return true
		}
	}
	return false
}
