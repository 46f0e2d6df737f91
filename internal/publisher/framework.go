package publisher

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/topic"
)

// maxUpdates is the maximum number of Framework Notifications that follow each other at
// once.
const maxUpdates = 16

// framework publishes the notifications of a framework channel: when, and in what order.
// Package framework determines what they announce.
type framework struct{ feed }

// work publishes updates, and returns the time to wait before the next call.
func (f *framework) work(ctx context.Context) (time.Duration, error) {
	if rest := f.p.options.Framework - time.Since(f.published); rest > 0 {
		return rest, nil
	}
	err := f.poller.poll(ctx)
	if err == nil && f.poller.due {
		err = f.collect(ctx)
	}
	return f.rest(err)
}

func (f *framework) collect(ctx context.Context) error {
	if !f.known {
		if err := f.read(ctx); err != nil {
			return err
		}
		f.known = true
	}
	for range maxUpdates {
		began := time.Now()
		u, cursor, err := f.Documents.Next(ctx, f.state.Documents)
		if err != nil {
			return err
		}
		if f.state.Equal(pushlog.State{}) {
			if err := f.begin(ctx, u, cursor); err != nil {
				return err
			}
		}
		if u == nil {
			f.poller.due, f.poller.looked = false, began
			return nil
		}
		if err := f.add(ctx, u, cursor); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the topic. It stores the cursor next unless an update will store it.
func (f *framework) begin(ctx context.Context, u *Update, next string) error {
	first := pushlog.State{Until: time.Now().UTC().Truncate(time.Microsecond)}
	if u == nil {
		first.Documents = next
	}
	state, err := f.p.store.Begin(ctx, f.Topic, first)
	if err != nil {
		return err
	}
	if f.state = state; !state.Equal(first) {
		return pushlog.ErrMoved
	}
	return nil
}

func (f *framework) add(ctx context.Context, u *Update, cursor string) error {
	var left omissions
	body, ok := frameworkDocument(u, &left)
	f.p.omit(f.log, "documents", &left)
	if !ok {
		return fmt.Errorf("topic: an update of the documents (%T) has no valid entry", f.Documents)
	}
	return f.append(ctx, pushlog.Notification{Body: body}, pushlog.State{Until: f.state.Until, Documents: cursor}, 0)
}

// endRemoved publishes the end of removed sets, on framework topics that are in the log but
// no longer have a channel. It returns the senders to their hubs. A hub that no channel uses
// receives the notification by POST and without a token, because only its URI is known.
func (p *Publisher) endRemoved(ctx context.Context) ([]*sender, error) {
	if p.removed == nil {
		return nil, nil
	}
	topics, err := p.store.Topics(ctx)
	if err != nil {
		return nil, err
	}
	ends := map[string]int64{} // number of the last notification
	for _, uri := range topics {
		if p.topics[uri] != nil {
			continue
		}
		if ends[uri], err = p.end(ctx, uri); err != nil {
			return nil, err
		}
	}
	cursors, err := p.store.AllHubCursors(ctx)
	if err != nil {
		return nil, err
	}
	var senders []*sender
	for _, c := range cursors {
		last := ends[c.Topic]
		if last == 0 {
			continue
		}
		h := p.hub(c.Hub)
		if h == nil && c.Taken < last {
			p.log.LogAttrs(ctx, slog.LevelInfo, "topic: a removed set is announced to a hub that no channel uses, without a token and not as a ping",
				slog.String("topic", sparse.RedactURI(c.Topic)), slog.String("hub", sparse.RedactURI(c.Hub)))
		}
		if h == nil {
			h = &topic.RemoteHub{URI: c.Hub}
		}
		senders = append(senders, newSender(p, c.Topic, h))
	}
	return senders, nil
}

// end appends the last notifications of a topic, unless they already exist. It returns the
// number of the last one, or 0 if there is none. The state after it has no documents,
// so a set that returns is announced again.
func (p *Publisher) end(ctx context.Context, uri string) (last int64, err error) {
	state, newest, err := p.newest(ctx, uri)
	if err != nil || newest == nil || !newest.From.IsZero() {
		return 0, err // nothing was published, or it is a change channel
	}
	if state.Documents == "" {
		return state.Number, nil
	}
	if !state.Until.Before(p.made) {
		// Another process, which knows more sets, has begun the channel since
		// this process was started.
		return 0, nil
	}
	updates := p.removed(newest.CapabilityList)
	for i, u := range updates {
		body, ok := frameworkDocument(u, &omissions{})
		if !ok {
			return 0, nil
		}
		n := pushlog.Notification{Topic: uri, CapabilityList: newest.CapabilityList, Body: body}
		next := pushlog.State{Number: state.Number + 1, Until: state.Until, Documents: state.Documents}
		if i == len(updates)-1 {
			next.Documents = ""
		}
		if err := p.store.Append(ctx, n, state, next); err != nil {
			return 0, err
		}
		p.totals.Count(func(c *topic.Counters) { c.Notifications++ })
		state, last = next, next.Number
	}
	return last, nil
}

// hub returns the hub with this URI of any channel, or nil.
func (p *Publisher) hub(uri string) *topic.RemoteHub {
	for i := range p.channels {
		for j := range p.channels[i].Hubs {
			if h := &p.channels[i].Hubs[j]; h.URI == uri {
				return h
			}
		}
	}
	return nil
}
