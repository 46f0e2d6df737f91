package publisher

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

// ended has the framework topics of removed sets that are still in the log.
type ended struct {
	mu     sync.Mutex
	topics map[string]*Channel
	read   time.Time // when topics was read
}

// endedTime is the time for which the topics of removed sets are not read again, because
// strangers cause it.
const endedTime = 5 * time.Second

// HasRemoved reports whether uri is the framework topic of a removed set whose last
// notification is in the log. The log keeps it until all hubs and subscribers have accepted
// it or it has been given up, and then for topic.Options.Retain.
func (p *Publisher) HasRemoved(ctx context.Context, uri string) bool {
	return p.topics[uri] == nil && p.removedChannel(ctx, uri) != nil
}

// removedChannel returns the channel of a framework topic of a removed set, or nil.
func (p *Publisher) removedChannel(ctx context.Context, uri string) *Channel {
	if p.removed == nil {
		return nil
	}
	e := &p.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.read) >= endedTime {
		topics, err := p.readEnded(ctx)
		if err != nil {
			p.sparse.Log(ctx, p.log, slog.LevelError, "topics of removed sets not read: the log has failed", slog.Any("error", err))
			return e.topics[uri]
		}
		e.topics, e.read = topics, time.Now()
	}
	return e.topics[uri]
}

func (p *Publisher) readEnded(ctx context.Context) (map[string]*Channel, error) {
	uris, err := p.store.Topics(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*Channel)
	for _, uri := range uris {
		if p.topics[uri] != nil {
			continue
		}
		_, newest, err := p.newest(ctx, uri)
		switch {
		case err != nil:
			return nil, err
		case newest == nil || !newest.From.IsZero() || p.removed(newest.CapabilityList) == nil:
			continue // a change channel, or a set that has moved
		}
		found[uri] = &Channel{Topic: uri, CapabilityList: newest.CapabilityList}
		if len(p.channels) > 0 {
			found[uri].OwnHub = p.channels[0].OwnHub
		}
	}
	if len(found) == 0 {
		return found, nil
	}
	cursors, err := p.store.AllHubCursors(ctx)
	for _, cursor := range cursors {
		if c := found[cursor.Topic]; c != nil {
			c.Hubs = append(c.Hubs, topic.RemoteHub{URI: cursor.Hub})
		}
	}
	return found, err
}
