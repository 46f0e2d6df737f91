package rshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/framework"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/publisher"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// PushStatus returns the progress of the Source's notification channels and of remote hubs
// that is recorded in the log, whichever process sends. It has no Topics if no set has
// channels.
func (s *Source) PushStatus(ctx context.Context) (topic.Status, error) {
	if s.publisher == nil {
		return topic.Status{}, nil
	}
	all, err := s.publisher.Status(ctx)
	if err != nil {
		return topic.Status{}, err
	}
	i := 0
	for _, st := range s.site.Order { // as the publisher got them
		for _, c := range st.Channels() {
			all.Topics[i].Set, all.Topics[i].Capability = st.Name, c
			i++
		}
	}
	return all, nil
}

// Hub returns the Source's own hub, for its Status and its subscriptions;
// [Source.Run] runs it. It is nil without [Options].Hub.
func (s *Source) Hub() *hub.Hub { return s.hub }

// openTimeout limits the time to open the log of this Source in its Store.
const openTimeout = 30 * time.Second

// openStore opens the log of the Source with the base URL in its Store, and creates its hub.
func (r *runner) openStore(base *url.URL) (err error) {
	r.stored = topiclog.NewMemory()
	if store := r.options.Store; store != nil {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		if r.stored, err = store.Log(ctx, base.String()); err != nil {
			return fmt.Errorf("rshttp: %w", err)
		}
	}
	if r.notifications = pushlog.Unseal(r.stored); r.notifications == nil {
		return errors.New("rshttp: the Store has returned the zero Log")
	}
	if r.options.Hub == nil {
		return nil
	}
	uri := cmp.Or(r.options.HubURI, base.JoinPath("websub/").String())
	if r.hubURI, err = url.Parse(uri); err != nil {
		return fmt.Errorf("rshttp: HubURI: %w", err)
	}
	opts := *r.options.Hub
	opts.Logger = cmp.Or(opts.Logger, r.log)
	if opts.Tracer == nil {
		opts.Tracer = r.options.Tracer
	}
	if r.hub, err = hub.New(uri, r.stored, &opts); err != nil {
		return fmt.Errorf("rshttp: %w", err)
	}
	return nil
}

// newPublisher returns the publisher of the channels of all sets, or nil if there is nothing
// to publish.
func (r *runner) newPublisher() (*publisher.Publisher, error) {
	var channels []publisher.Channel
	for i, st := range r.site.Order {
		for _, c := range st.Channels() {
			channel, err := r.channel(st, c)
			channel.Hubs = r.remote[i]
			if err != nil {
				return nil, err
			}
			if r.hub != nil {
				channel.OwnHub = r.hub.URI()
				r.hub.Register(channel.Topic)
			}
			channels = append(channels, channel)
		}
	}
	if len(channels) == 0 && r.options.Store == nil && r.hub == nil {
		return nil, nil
	}
	opts := r.options.Push
	opts.Logger = cmp.Or(opts.Logger, r.log)
	if opts.Tracer == nil {
		opts.Tracer = r.options.Tracer
	}
	if r.options.Store == nil {
		r.log.Info("notifications and subscriptions are kept in memory: with a Store they survive a restart")
	}
	p, err := publisher.New(r.notifications, channels, r.removed, &opts)
	if err != nil {
		return nil, fmt.Errorf("rshttp: %w", err)
	}
	return p, nil
}

// isOld reports whether the Source had a framework channel before this process was started,
// perhaps of a set that has been removed. Its Source Description existed then.
func (r *runner) isOld(ctx context.Context) (bool, error) {
	r.oldMu.Lock()
	defer r.oldMu.Unlock()
	if r.old != nil {
		return *r.old, nil
	}
	topics, err := r.notifications.Topics(ctx)
	if err != nil {
		return false, err
	}
	old := false
	for _, uri := range topics {
		if !strings.HasSuffix(uri, "/"+document.FrameworkPath) {
			continue
		}
		state, err := r.notifications.State(ctx, uri)
		if err != nil {
			return false, err
		}
		if old = state.Until.Before(r.site.Made.Truncate(time.Microsecond)); old { // when the channel began
			break
		}
	}
	r.old = &old
	return old, nil
}

// removed returns the last notifications on the framework channel of a set that has been
// removed from this Source: the Source Description is updated, and the Capability List is
// deleted (Framework Notification 2, 2.1). It returns none for an existing set, and for a set
// of another base URL, which has moved.
func (s *server) removed(capabilityList string) []*publisher.Update {
	if !strings.HasPrefix(capabilityList, s.site.Routes.Origin+s.site.Routes.Base) {
		return nil
	}
	for _, st := range s.site.Order {
		if s.site.Routes.URL(document.KindCapabilityList, st, "") == capabilityList {
			return nil
		}
	}
	return []*publisher.Update{framework.AnnounceDescription(s.site, resourcesync.Updated), framework.AnnounceSet(s.site, capabilityList, resourcesync.Deleted)}
}

// answerRemoved answers a request for the framework topic of a removed set, as long as the
// log has it: a hub may verify the topic before it relays the last notification (Framework
// Notification 4.1). It reports whether the request is one.
func (s *Source) answerRemoved(w http.ResponseWriter, r *http.Request) bool {
	if s.publisher == nil || !strings.HasPrefix(r.URL.Path, s.site.Routes.Base) || !strings.HasSuffix(r.URL.Path, "/"+document.FrameworkPath) {
		return false
	}
	uri := s.site.Routes.Origin + (&url.URL{Path: r.URL.Path}).EscapedPath()
	if !s.publisher.HasRemoved(r.Context(), uri) {
		return false
	}
	serve := func(w http.ResponseWriter) { s.publisher.ServeTopic(w, r, uri) }
	if s.options.Observe == nil {
		serve(w)
	} else {
		s.observe(w, Answer{Request: r, Document: string(resourcesync.FrameworkNotification)}, serve)
	}
	return true
}

func (r *runner) channel(st *document.Set, c resourcesync.Capability) (publisher.Channel, error) {
	channel := publisher.Channel{
		Topic:          st.URL(string(c), ""),
		CapabilityList: st.URL(document.KindCapabilityList, ""),
	}
	if c == resourcesync.ChangeNotification {
		channel.Changer, channel.Settle = st.Changer, st.Division.Settle
		channel.Stater, channel.Watcher = st.ChangeStater, st.ChangeWatcher
		return channel, nil
	}
	feed, err := framework.NewFeed(st, r.options.Push.DumpInterval, r.isOld)
	if err != nil {
		return channel, err
	}
	channel.Documents = feed
	if feed.Watches() {
		channel.Watcher = feed
	} else if feed.HasVersion() {
		channel.Stater = feed
	}
	return channel, nil
}

func (q request) serveTopic() error {
	if q.t.Kind.Page != nil {
		q.w.Header()["Vary"] = append(q.w.Header()["Vary"], pages.Vary)
	}
	q.publisher.ServeTopic(q.w, q.r, q.t.URL(q.t.Kind.Name, ""))
	return nil
}

func (q request) serveSocket() error {
	q.options.WebSocket.ServeTopic(q.w, q.r, q.t.URL(strings.TrimSuffix(q.t.Kind.Name, document.Socket), ""))
	return nil
}
