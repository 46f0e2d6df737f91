package rshttp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/publisher"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// PushStatus returns the progress of the Source's notification channels and of remote hubs
// that is recorded in the log, whichever process sends. It has no Topics if no set has
// channels.
func (s *Source) PushStatus(ctx context.Context) (topic.Status, error) {
	if s.publisher == nil {
		return topic.Status{}, nil
	}
	return s.publisher.Status(ctx)
}

// Hub returns the Source's own hub, for its Status and its subscriptions;
// [Source.Run] runs it. It is nil without [Options].Hub.
func (s *Source) Hub() *hub.Hub { return s.hub }

// openTimeout limits the time to open the log of this Source in its Store.
const openTimeout = 30 * time.Second

// openStore opens the log of the Source with the base URL in its Store, and creates its hub.
func (s *Source) openStore(base *url.URL) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	store, o := s.options.Store, s.options.Hub
	if store != nil {
		if s.notifications, err = store.Log(ctx, base.String()); err != nil {
			return fmt.Errorf("rshttp: %w", err)
		}
	}
	if o == nil {
		return nil
	}
	uri := cmp.Or(s.options.HubURI, base.JoinPath("websub/").String())
	if s.hubURI, err = url.Parse(uri); err != nil {
		return fmt.Errorf("rshttp: HubURI: %w", err)
	}
	if store == nil {
		s.notifications = topic.NewMemoryLog()
	}
	opts := *o
	if opts.Logger == nil {
		opts.Logger = s.log
	}
	if s.hub, err = hub.New(uri, s.notifications, &opts); err != nil {
		return fmt.Errorf("rshttp: %w", err)
	}
	return nil
}

// newPublisher returns the publisher of the channels of all sets.
func (s *Source) newPublisher() (*publisher.Publisher, error) {
	var channels []publisher.Channel
	for _, st := range s.order {
		for _, c := range st.channels() {
			channel, err := st.channel(c)
			if err != nil {
				return nil, err
			}
			if s.hub != nil {
				channel.OwnHub = s.hub.URI()
				s.hub.Register(channel.Topic)
			}
			channels = append(channels, channel)
		}
	}
	if len(channels) == 0 && s.notifications == nil {
		return nil, nil
	}
	var opts topic.Options
	if s.options.Push != nil {
		opts = *s.options.Push
	}
	if opts.Logger == nil {
		opts.Logger = s.log
	}
	if s.notifications == nil {
		s.notifications = topic.NewMemoryLog()
	}
	if s.options.Store == nil {
		s.log.Info("notifications and subscriptions are kept in memory: with a Store they survive a restart")
	}
	p, err := publisher.New(s.notifications, channels, s.removed, &opts)
	if err != nil {
		return nil, fmt.Errorf("rshttp: %w", err)
	}
	return p, nil
}

// removed returns the last notification on the framework channel of a set that has
// been removed from this Source: its Capability List is deleted (Framework
// Notification 2.1). It is nil for an existing set, and for a set of another base
// URL, which has moved.
func (s *site) removed(capabilityList string) *publisher.Update {
	if !strings.HasPrefix(capabilityList, s.routes.origin+s.routes.base) {
		return nil
	}
	for _, st := range s.order {
		if s.routes.url(kindCapabilityList, st, "") == capabilityList {
			return nil
		}
	}
	e := entry(capabilityList, resourcesync.CapabilityList, resourcesync.Deleted, time.Time{})
	return &publisher.Update{Up: s.routes.url(kindDescription, nil, ""), Entries: []rsxml.Entry{e}}
}

// channel returns st's channel of the capability c.
func (st *set) channel(c resourcesync.Capability) (publisher.Channel, error) {
	channel := publisher.Channel{
		Topic:          st.url(string(c), ""),
		CapabilityList: st.url(kindCapabilityList, ""),
		Hubs:           st.remoteHubs,
	}
	if c == resourcesync.ChangeNotification {
		channel.Changer, channel.Settle = st.changer, st.options.Settle
		channel.Stater, channel.Watcher = st.changeStater, st.changeWatcher
		return channel, nil
	}
	feed, err := newFrameworkFeed(st)
	if err != nil {
		return channel, err
	}
	channel.Documents = feed
	if feed.hasVersion() {
		channel.Stater = feed
	} else {
		channel.Watcher = st.watcher
	}
	return channel, nil
}

// channelEntry returns the entry of st's channel of the capability c in a Capability
// List: the topic with its hubs (Change Notification 5, Framework Notification 5) or, if
// it has none, the WebSocket (section 3 of the 0.8 draft). A channel that has both is one
// entry, because there must not be two of one capability (core 9): the WebSocket is an
// alternate of the topic.
func (st *set) channelEntry(c resourcesync.Capability) *rsxml.Entry {
	e := &rsxml.Entry{
		Loc:      st.url(string(c), ""),
		Metadata: rsxml.Metadata{Capability: c},
	}
	for _, uri := range st.hubs {
		e.Links = append(e.Links, resourcesync.Link{Rel: resourcesync.RelHub, Href: uri})
	}
	if st.sockets {
		uri := "ws" + strings.TrimPrefix(st.url(string(c)+socket, ""), "http")
		if len(st.hubs) > 0 {
			e.Links = append(e.Links, resourcesync.Link{Rel: resourcesync.RelAlternate, Href: uri})
		} else {
			e.Loc = uri
		}
	}
	return e
}

// serveTopic answers a request for the topic t.
func (s *Source) serveTopic(w http.ResponseWriter, r *http.Request, t target) {
	s.publisher.ServeTopic(w, r, t.url(t.kind.name, ""))
}

// serveSocket answers a request for the channel t by WebSocket.
func (s *Source) serveSocket(w http.ResponseWriter, r *http.Request, t target) {
	s.options.WebSocket.ServeTopic(w, r, t.url(strings.TrimSuffix(t.kind.name, socket), ""))
}
