package pushlog

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
)

// Memory is a [Log] of one process. Its content is lost when the process ends: hubs
// and Destinations miss the notifications that they have not taken, channels start
// over, and subscriptions end without notice.
type Memory struct {
	leading sync.Mutex
	news    background.Bell

	mu            sync.Mutex
	topics        map[string]*memoryTopic
	hubs          map[memoryHub]*memoryHubCursor
	subscriptions map[int64]*memorySubscription
	pairs         map[memoryPair]*memorySubscription
	hosts         map[string]int   // subscriptions of each callback host
	clients       map[string]int   // and of each client
	requests      []*memoryRequest // by ID
	lastID        int64
}

type memoryTopic struct {
	state         State
	notifications []Notification // by number
	used          time.Time
	subscriptions int
}

var _ Log = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory() *Memory {
	return &Memory{
		topics:        map[string]*memoryTopic{},
		hubs:          map[memoryHub]*memoryHubCursor{},
		subscriptions: map[int64]*memorySubscription{},
		pairs:         map[memoryPair]*memorySubscription{},
		hosts:         map[string]int{},
		clients:       map[string]int{},
	}
}

// topic returns a topic, and creates it if necessary.
func (l *Memory) topic(name string) *memoryTopic {
	t := l.topics[name]
	if t == nil {
		t = &memoryTopic{used: time.Now()}
		l.topics[name] = t
	}
	return t
}

func (l *Memory) State(_ context.Context, topic string) (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state(topic), nil
}

func (l *Memory) state(topic string) State {
	if t := l.topics[topic]; t != nil {
		return t.state
	}
	return State{}
}

func (l *Memory) Topics(context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.topics)), nil
}

func (l *Memory) Begin(_ context.Context, topic string, first State) (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topic(topic)
	if t.state.Equal(State{}) {
		t.state = first
	}
	return t.state, nil
}

func (l *Memory) Append(_ context.Context, n Notification, before, next State) error {
	if err := CheckAppend(before, next); err != nil {
		return err
	}
	n.Number, n.Made = next.Number, time.Now()
	n.Body = bytes.Clone(n.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.state(n.Topic).Equal(before) {
		return ErrMoved
	}
	t := l.topic(n.Topic)
	t.state = next
	t.notifications = append(t.notifications, n)
	l.news.Ring()
	return nil
}

// Read implements [Log]. The bodies belong to the log and must not be changed.
func (l *Memory) Read(_ context.Context, topic string, after int64, max, maxBytes int) ([]Notification, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[topic]
	if t == nil {
		return nil, nil
	}
	var found []Notification
	for _, n := range t.after(after) {
		if maxBytes -= len(n.Body); len(found) >= max || maxBytes < 0 && len(found) > 0 {
			break
		}
		found = append(found, n)
	}
	return found, nil
}

// after returns the notifications after number.
func (t *memoryTopic) after(number int64) []Notification {
	i, _ := slices.BinarySearchFunc(t.notifications, number+1, func(n Notification, number int64) int { return cmp.Compare(n.Number, number) })
	return t.notifications[i:]
}

func (l *Memory) Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
	if !l.leading.TryLock() {
		return false, nil
	}
	defer l.leading.Unlock()
	return true, f(ctx)
}

func (l *Memory) Watch(ctx context.Context, wake func()) error {
	return l.news.Listen(ctx, wake)
}

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
	for _, r := range l.requests {
		if !r.End {
			least[r.Topic] = min(least[r.Topic], r.newest)
		}
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
