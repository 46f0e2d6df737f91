package pushlog

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Clear implements [Log].
func (l *Memory) Clear(_ context.Context, used map[string][]string, before, idle time.Time) ([]Dropped, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetHubs(used, idle)
	least := make(map[string]int64, len(l.topics)) // the lowest cursor of each topic
	for topic, t := range l.topics {
		least[topic] = t.state.Number
	}
	for key, c := range l.hubs {
		least[key.topic] = min(least[key.topic], c.Taken)
	}
	taken := map[string][]int64{} // by the subscriptions of each topic
	now := time.Now()
	for _, sub := range l.subscriptions {
		if now.Before(sub.Expires) {
			taken[sub.Topic] = append(taken[sub.Topic], sub.Progress.Taken)
			least[sub.Topic] = min(least[sub.Topic], sub.Progress.Taken)
		}
	}
	var dropped []Dropped
	for topic, t := range l.topics {
		if d := t.clear(least[topic], taken[topic], before); d.Messages > 0 {
			d.Topic = topic
			dropped = append(dropped, d)
		}
	}
	l.forgetTopics(used, before)
	return dropped, nil
}

// clear removes the notifications of t up to least, which is its lowest cursor, and
// those appended before the time before, but never the newest. taken has the cursors
// of its subscriptions.
func (t *memoryTopic) clear(least int64, taken []int64, before time.Time) (d Dropped) {
	var early []int64 // removed numbers that some subscription has not taken
	slow := t.state.Number
	if len(taken) > 0 {
		slow = slices.Min(taken)
	}
	t.notifications = slices.DeleteFunc(t.notifications, func(n Notification) bool {
		if n.Number >= t.state.Number || n.Number > least && !n.Made.Before(before) {
			return false
		}
		if n.Number > slow {
			early = append(early, n.Number)
		}
		return true
	})
	d.Messages = len(early)
	for _, number := range taken {
		i, _ := slices.BinarySearch(early, number+1)
		if i < len(early) {
			d.Subscriptions++
			d.Deliveries += len(early) - i
		}
	}
	return d
}

func (l *Memory) forgetHubs(used map[string][]string, idle time.Time) {
	now := time.Now()
	for key, c := range l.hubs {
		if slices.Contains(used[key.topic], key.hub) {
			c.used = now
		} else if c.used.Before(idle) {
			delete(l.hubs, key)
		}
	}
}

func (l *Memory) forgetTopics(used map[string][]string, before time.Time) {
	now := time.Now()
	for topic, t := range l.topics {
		if _, in := used[topic]; in {
			t.used = now
		} else if t.used.Before(before) && t.subscriptions == 0 {
			delete(l.topics, topic)
			maps.DeleteFunc(l.hubs, func(key memoryHub, _ *memoryHubCursor) bool { return key.topic == topic })
		}
	}
}

// Expire implements [Subscriptions].
func (l *Memory) Expire(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, sub := range slices.Collect(maps.Values(l.subscriptions)) {
		if !now.Before(sub.Expires) {
			l.remove(sub)
		}
	}
	l.requests = slices.DeleteFunc(l.requests, func(r *memoryRequest) bool { return now.Sub(r.Made) > time.Hour })
	return nil
}
