package main

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// addPush adds the own hub and the WebSockets that c asks for to the options of a
// Source. It returns the server of the WebSockets, or nil.
func (c *serveConfig) addPush(o *rshttp.Options, log *slog.Logger) (*websocket.Server, error) {
	if c.push.hasOwn() {
		o.HubURI = c.baseURL + ownHub
		o.Hub = &hub.Options{
			AllowCallbacks: c.push.callbacks,
			MinLease:       time.Duration(c.push.minLease),
			Retry:          time.Duration(c.push.retry),
			GiveUp:         time.Duration(c.push.giveUp),
		}
	}
	if !c.push.webSocket {
		return nil, nil
	}
	site, err := url.Parse(c.baseURL)
	if err != nil {
		return nil, err
	}
	sockets, err := websocket.New(&websocket.Options{Origins: append(c.push.origins, site.Host), Logger: log})
	if err != nil {
		return nil, err
	}
	o.WebSocket = sockets
	return sockets, nil
}

// leaveTopics ends the subscriptions to topics that the site had at another base URL,
// and notifies the subscribers.
func (p *publication) leaveTopics(ctx context.Context) {
	topics := []string{p.documents.JoinPath("change/").String(), p.documents.JoinPath("framework/").String()}
	if err := leave(ctx, p.source.Hub(), topics...); err != nil && ctx.Err() == nil {
		p.log.Warn("subscriptions to topics of another address not ended; they end with their leases", "error", err)
	}
}

// leave ends the subscriptions of h to topics other than these, because the site has
// moved.
func leave(ctx context.Context, h *hub.Hub, topics ...string) error {
	var left []string
	for sub, err := range h.Subscriptions(ctx) {
		if err != nil {
			return err
		}
		if !slices.Contains(topics, sub.Topic) && !slices.Contains(left, sub.Topic) {
			left = append(left, sub.Topic)
		}
	}
	return h.Withdraw(ctx, "the site has moved: subscribe to the topics that it has now", left...)
}
