package topic

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/wake"
)

// MemoryOutbox is an [Outbox] of one process, which forgets everything when that
// ends. Destinations then see a gap between the notifications of before and
// those of after. What it holds is bounded by Clear alone.
type MemoryOutbox struct {
	leading sync.Mutex
	added   wake.Bell

	mu     sync.Mutex
	topics map[string]*memoryTopic
	queues map[queueKey]*memoryQueue
}

type memoryTopic struct {
	state         State
	notifications []kept // by number, without gaps
	used          time.Time
}

type memoryQueue struct {
	Queue
	used time.Time
}

type kept struct {
	Notification
	made time.Time
}

type queueKey struct{ topic, hub string }

// NewMemoryOutbox returns an empty outbox.
func NewMemoryOutbox() *MemoryOutbox {
	return &MemoryOutbox{topics: map[string]*memoryTopic{}, queues: map[queueKey]*memoryQueue{}}
}

// State implements [Outbox].
func (o *MemoryOutbox) State(_ context.Context, topic string) (State, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state(topic), nil
}

func (o *MemoryOutbox) state(topic string) State {
	if t := o.topics[topic]; t != nil {
		return t.state
	}
	return State{}
}

// Begin implements [Outbox].
func (o *MemoryOutbox) Begin(_ context.Context, topic string, first State) (State, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.topics[topic] == nil {
		o.topics[topic] = &memoryTopic{state: first, used: time.Now()}
	}
	return o.topics[topic].state, nil
}

// Add implements [Outbox].
func (o *MemoryOutbox) Add(_ context.Context, n Notification, before, next State) error {
	if err := CheckAdd(before, next); err != nil {
		return err
	}
	n.Number = next.Number
	n.Body = bytes.Clone(n.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.state(n.Topic).Equal(before) {
		return ErrMoved
	}
	t := o.topics[n.Topic]
	if t == nil {
		t = &memoryTopic{used: time.Now()}
		o.topics[n.Topic] = t
	}
	t.state = next
	t.notifications = append(t.notifications, kept{n, time.Now()})
	o.added.Ring()
	return nil
}

// CheckAdd returns an error unless next can come after before. It is for those
// who implement [Outbox].
func CheckAdd(before, next State) error {
	switch {
	case next.Number != before.Number+1:
		return fmt.Errorf("topic: notification %d cannot come after notification %d", next.Number, before.Number)
	case len(next.Documents) > maxDocuments:
		return fmt.Errorf("topic: %d bytes about documents are more than the %d that a state may have", len(next.Documents), maxDocuments)
	}
	return nil
}

const maxDocuments = 64 << 10

// Equal reports whether s and other are the same state.
func (s State) Equal(other State) bool {
	return s.Number == other.Number && s.Until.Equal(other.Until) && s.Documents == other.Documents
}

// Notifications implements [Outbox]. The bodies are those of the outbox and must
// not be changed.
func (o *MemoryOutbox) Notifications(_ context.Context, topic string, after int64, max int) ([]Notification, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.topics[topic]
	if t == nil {
		return nil, nil
	}
	var found []Notification
	for _, n := range t.notifications[t.index(after+1):] {
		if len(found) >= max {
			break
		}
		found = append(found, n.Notification)
	}
	return found, nil
}

// index returns the index of the first notification with that number or a greater
// one.
func (t *memoryTopic) index(number int64) int {
	i, _ := slices.BinarySearchFunc(t.notifications, number, func(k kept, number int64) int { return cmp.Compare(k.Number, number) })
	return i
}

// Queue implements [Outbox].
func (o *MemoryOutbox) Queue(_ context.Context, topic, hub string) (Queue, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.queues[queueKey{topic, hub}]
	if q == nil {
		q = o.put(Queue{Topic: topic, Hub: hub, Taken: o.state(topic).Number})
	}
	return q.Queue, nil
}

// Save implements [Outbox].
func (o *MemoryOutbox) Save(_ context.Context, q Queue) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(q)
	return nil
}

func (o *MemoryOutbox) put(q Queue) *memoryQueue {
	key := queueKey{q.Topic, q.Hub}
	if o.queues[key] == nil {
		o.queues[key] = &memoryQueue{used: time.Now()}
	}
	o.queues[key].Queue = q
	return o.queues[key]
}

// Queues implements [Outbox].
func (o *MemoryOutbox) Queues(context.Context) ([]Queue, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]Queue, 0, len(o.queues))
	for _, q := range o.queues {
		all = append(all, q.Queue)
	}
	slices.SortFunc(all, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Hub, b.Hub))
	})
	return all, nil
}

// Clear implements [Outbox].
func (o *MemoryOutbox) Clear(_ context.Context, used map[string][]string, before, idle time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(used, before, idle)
	taken := make(map[string]int64, len(o.topics)) // by every queue
	for topic, t := range o.topics {
		taken[topic] = t.state.Number
	}
	for key, q := range o.queues {
		taken[key.topic] = min(taken[key.topic], q.Taken)
	}
	for topic, t := range o.topics {
		t.notifications = slices.DeleteFunc(t.notifications, func(n kept) bool {
			return n.Number < t.state.Number && (n.Number <= taken[topic] || n.made.Before(before))
		})
	}
	return nil
}

// forget forgets what has not been in use.
func (o *MemoryOutbox) forget(used map[string][]string, before, idle time.Time) {
	now := time.Now()
	for topic, t := range o.topics {
		if _, in := used[topic]; in {
			t.used = now
		} else if t.used.Before(before) {
			delete(o.topics, topic)
			maps.DeleteFunc(o.queues, func(key queueKey, _ *memoryQueue) bool { return key.topic == topic })
		}
	}
	for key, q := range o.queues {
		if slices.Contains(used[key.topic], key.hub) {
			q.used = now
		} else if q.used.Before(idle) {
			delete(o.queues, key)
		}
	}
}

// Lead implements [Outbox].
func (o *MemoryOutbox) Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
	if !o.leading.TryLock() {
		return false, nil
	}
	defer o.leading.Unlock()
	return true, f(ctx)
}

// Watch implements [Outbox].
func (o *MemoryOutbox) Watch(ctx context.Context, wake func()) error {
	return o.added.Listen(ctx, wake)
}
