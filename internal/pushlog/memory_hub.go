package pushlog

import (
	"cmp"
	"context"
	"slices"
	"time"
)

type memoryHub struct{ topic, hub string }

type memoryHubCursor struct {
	HubCursor
	used time.Time
}

// HubCursor implements [HubCursors].
func (l *Memory) HubCursor(_ context.Context, topic, hub string) (HubCursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.hubs[memoryHub{topic, hub}]
	if c == nil {
		c = l.putHubCursor(HubCursor{Topic: topic, Hub: hub, Cursor: Cursor{Taken: l.state(topic).Number}})
	}
	return c.HubCursor, nil
}

// SaveHubCursor implements [HubCursors].
func (l *Memory) SaveHubCursor(_ context.Context, c HubCursor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putHubCursor(c)
	return nil
}

func (l *Memory) putHubCursor(c HubCursor) *memoryHubCursor {
	key := memoryHub{c.Topic, c.Hub}
	if l.hubs[key] == nil {
		l.hubs[key] = &memoryHubCursor{used: time.Now()}
	}
	l.hubs[key].HubCursor = c
	return l.hubs[key]
}

// AllHubCursors implements [HubCursors].
func (l *Memory) AllHubCursors(context.Context) ([]HubCursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]HubCursor, 0, len(l.hubs))
	for _, c := range l.hubs {
		all = append(all, c.HubCursor)
	}
	slices.SortFunc(all, func(a, b HubCursor) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Hub, b.Hub))
	})
	return all, nil
}
