package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A push is how serve tells others of changes, as soon as they happen.
type push struct {
	hubs    []topic.Hub
	own     *hub.Hub          // nil if there is none
	path    string            // of own
	topics  []string          // of the channels
	alone   bool              // no other process has the same state
	sockets *websocket.Server // nil if they are not wanted
	feed    topic.Feed        // sockets, or nil
	log     *slog.Logger
}

// newPush puts together what c asks for.
func newPush(c *serveConfig, st *state, log *slog.Logger) (*push, error) {
	documents := c.baseURL + strings.TrimPrefix(c.prefix, "/")
	p := &push{log: log, alone: !c.stateIsPostgres(), topics: []string{documents + "change/", documents + "framework/"}}
	if c.push.hasOwn() {
		if err := p.openHub(c, st, log); err != nil {
			return nil, usageError{err}
		}
	}
	p.hubs = append(p.hubs, c.push.foreign...)
	if c.push.webSocket {
		site, err := url.Parse(c.baseURL)
		if err != nil {
			return nil, err
		}
		server, err := websocket.New(st.outbox, &websocket.Options{Origins: append(c.push.origins, site.Host), Logger: log})
		if err != nil {
			return nil, err
		}
		p.sockets, p.feed = server, server
	}
	return p, nil
}

// openHub makes serve's own hub.
func (p *push) openHub(c *serveConfig, st *state, log *slog.Logger) error {
	uri, err := url.Parse(c.baseURL + ownHub)
	if err != nil {
		return err
	}
	p.path = uri.Path
	p.own, err = hub.New(uri.String(), st.hub, &hub.Options{
		AllowCallbacks: c.push.callbacks,
		Token:          cmp.Or(c.push.token, os.Getenv("RESOURCESYNC_HUB_TOKEN")),
		MinLease:       time.Duration(c.push.minLease),
		Retry:          time.Duration(c.push.retry),
		GiveUp:         time.Duration(c.push.giveUp),
		Logger:         log,
	})
	p.hubs = append(p.hubs, topic.Hub{URI: uri.String(), Submitter: p.own})
	return err
}

// leave ends the subscriptions to topics that are not those of the channels any
// more, because the site has moved, and tells the subscribers. It is for states of
// one process: others may know of topics that this one does not.
func (p *push) leave(ctx context.Context, topics ...string) error {
	var left []string
	for sub, err := range p.own.Subscriptions(ctx) {
		if err != nil {
			return err
		}
		if !slices.Contains(topics, sub.Topic) && !slices.Contains(left, sub.Topic) {
			left = append(left, sub.Topic)
		}
	}
	return p.own.Withdraw(ctx, "the site has moved: subscribe to the topics that it has now", left...)
}

// run verifies subscriptions, delivers, and feeds WebSockets until ctx is done.
func (p *push) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if p.own != nil {
		g.Go(func() error { return p.own.Run(ctx) })
		if p.alone {
			g.Go(func() error {
				if err := p.leave(ctx, p.topics...); err != nil && ctx.Err() == nil {
					p.log.Warn("subscriptions to topics of another address not ended; they end with their leases", "error", err)
				}
				return nil
			})
		}
	}
	if p.sockets != nil {
		g.Go(func() error { return p.sockets.Run(ctx) })
	}
	return g.Wait()
}
