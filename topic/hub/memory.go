package hub

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/wake"
)

// MemoryStore is a [Store] of one process, which forgets everything when that
// ends: Destinations then have to subscribe again, and are not told so. What it
// holds is bounded by the limits of requests, and by Clear.
//
// Claim looks at every subscription: some ten thousand are no burden.
type MemoryStore struct {
	news wake.Bell

	mu            sync.Mutex
	topics        map[string]*memoryTopic
	subscriptions map[int64]*memorySubscription
	pairs         map[memoryPair]*memorySubscription
	hosts         map[string]int   // subscriptions of each host
	clients       map[string]int   // and of each client
	requests      []*memoryRequest // by ID
	lastID        int64
}

type memoryTopic struct {
	messages      []Message // by number
	numbers       map[string]int64
	newest        int64
	subscriptions int
}

// A memoryPair is what a subscription is one of.
type memoryPair struct{ topic, callback string }

type memoryClaim struct {
	owner string
	until time.Time
}

func (c *memoryClaim) holds(now time.Time) bool { return c.owner != "" && now.Before(c.until) }

type memorySubscription struct {
	client string // who asked for it
	Subscription
	claim   memoryClaim
	changed bool // by a request, since it was claimed
}

type memoryRequest struct {
	Request
	claim memoryClaim
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{
		topics:        map[string]*memoryTopic{},
		subscriptions: map[int64]*memorySubscription{},
		pairs:         map[memoryPair]*memorySubscription{},
		hosts:         map[string]int{},
		clients:       map[string]int{},
	}
}

func (s *MemoryStore) topic(name string) *memoryTopic {
	t := s.topics[name]
	if t == nil {
		t = &memoryTopic{numbers: map[string]int64{}}
		s.topics[name] = t
	}
	return t
}

// Publish implements [Store].
func (s *MemoryStore) Publish(_ context.Context, m Message) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topic(m.Topic)
	if number, found := t.numbers[m.ID]; found {
		return number, nil
	}
	t.newest++
	m.Number = t.newest
	m.Body = bytes.Clone(m.Body)
	t.messages = append(t.messages, m)
	t.numbers[m.ID] = m.Number
	s.news.Ring()
	return m.Number, nil
}

// Messages implements [Store]. The bodies are those of the store and must not be
// changed.
func (s *MemoryStore) Messages(_ context.Context, topic string, after int64, max, maxBytes int) ([]Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		return nil, nil
	}
	var found []Message
	for _, m := range t.after(after) {
		if maxBytes -= len(m.Body); len(found) >= max || maxBytes < 0 && len(found) > 0 {
			break
		}
		found = append(found, m)
	}
	return found, nil
}

// after returns the messages with greater numbers.
func (t *memoryTopic) after(number int64) []Message {
	i, _ := slices.BinarySearchFunc(t.messages, number+1, func(m Message, n int64) int { return cmp.Compare(m.Number, n) })
	return t.messages[i:]
}

func (s *MemoryStore) add(sub *memorySubscription) {
	s.subscriptions[sub.ID] = sub
	s.pairs[memoryPair{sub.Topic, sub.Callback}] = sub
	s.hosts[sub.Host]++
	s.clients[sub.client]++
	s.topics[sub.Topic].subscriptions++
}

func (s *MemoryStore) remove(sub *memorySubscription) {
	delete(s.subscriptions, sub.ID)
	delete(s.pairs, memoryPair{sub.Topic, sub.Callback})
	if s.clients[sub.client]--; s.clients[sub.client] == 0 {
		delete(s.clients, sub.client)
	}
	if s.hosts[sub.Host]--; s.hosts[sub.Host] == 0 {
		delete(s.hosts, sub.Host)
	}
	s.topics[sub.Topic].subscriptions--
}

// Claim implements [Store].
func (s *MemoryStore) Claim(_ context.Context, owner string, max int) ([]Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	waiting := longest{max: max}
	for _, sub := range s.subscriptions {
		next := s.topics[sub.Topic].after(sub.Progress.Taken)
		if len(next) == 0 || sub.claim.holds(now) || sub.Progress.Retry.After(now) || !now.Before(sub.Expires) {
			continue
		}
		since := next[0].Published
		if sub.Progress.Retry.After(since) {
			since = sub.Progress.Retry
		}
		waiting.add(memoryWait{since, sub})
	}
	var claimed []Subscription
	for _, w := range waiting.sorted() {
		w.sub.claim, w.sub.changed = memoryClaim{owner, now.Add(ClaimTime)}, false
		claimed = append(claimed, w.sub.Subscription)
	}
	return claimed, nil
}

// Save implements [Store].
func (s *MemoryStore) Save(_ context.Context, owner string, progress []Progress) (lost []int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := time.Now().Add(ClaimTime)
	for _, p := range progress {
		sub := s.subscriptions[p.ID]
		if sub == nil || sub.claim.owner != owner {
			lost = append(lost, p.ID)
			continue
		}
		if p.End && !sub.changed {
			s.remove(sub)
			continue
		}
		release := p.Release || sub.changed
		if sub.changed {
			lost = append(lost, p.ID)
			s.news.Ring()
		}
		p.Release, p.End = false, false
		sub.Progress, sub.changed = p, false
		if release {
			sub.claim = memoryClaim{}
		} else {
			sub.claim.until = until
		}
	}
	return lost, nil
}

// End implements [Store].
func (s *MemoryStore) End(_ context.Context, id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subscriptions[id]; sub != nil {
		s.remove(sub)
	}
	return nil
}

// Subscriptions implements [Store]. It yields those that there are when it
// begins.
func (s *MemoryStore) Subscriptions(ctx context.Context) iter.Seq2[Subscription, error] {
	return func(yield func(Subscription, error) bool) {
		s.mu.Lock()
		all := make([]Subscription, 0, len(s.subscriptions))
		for _, sub := range s.subscriptions {
			all = append(all, sub.Subscription)
		}
		s.mu.Unlock()
		slices.SortFunc(all, func(a, b Subscription) int { return cmp.Compare(a.ID, b.ID) })
		for _, sub := range all {
			if err := ctx.Err(); err != nil {
				yield(Subscription{}, err)
				return
			}
			if !yield(sub, nil) {
				return
			}
		}
	}
}

// Clear implements [Store].
func (s *MemoryStore) Clear(_ context.Context, before time.Time) ([]Dropped, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	taken := map[string][]int64{} // by the subscriptions of each topic
	for _, sub := range slices.Collect(maps.Values(s.subscriptions)) {
		if now.Before(sub.Expires) {
			taken[sub.Topic] = append(taken[sub.Topic], sub.Progress.Taken)
		} else {
			s.remove(sub)
		}
	}
	s.requests = slices.DeleteFunc(s.requests, func(r *memoryRequest) bool { return now.Sub(r.Made) > time.Hour })
	var dropped []Dropped
	for name, t := range s.topics {
		if d := t.clear(taken[name], before, now); d.Messages > 0 {
			d.Topic = name
			dropped = append(dropped, d)
		}
	}
	return dropped, nil
}

// clear removes messages of t, given what its subscriptions have taken.
func (t *memoryTopic) clear(taken []int64, before, now time.Time) (d Dropped) {
	least := int64(math.MaxInt64)
	if len(taken) > 0 {
		least = slices.Min(taken)
	}
	var early []int64 // dropped though somebody has not taken them
	t.messages = slices.DeleteFunc(t.messages, func(m Message) bool {
		if m.Number >= t.newest || now.Sub(m.Published) <= time.Hour || m.Number > least && !m.Published.Before(before) {
			return false
		}
		delete(t.numbers, m.ID)
		if m.Number > least {
			early = append(early, m.Number)
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

// Watch implements [Store].
func (s *MemoryStore) Watch(ctx context.Context, wake func()) error { return s.news.Listen(ctx, wake) }
