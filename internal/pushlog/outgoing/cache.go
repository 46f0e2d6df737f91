// Package outgoing has the common parts of all deliverers of notifications: a cache of the
// log, and the links of a notification.
package outgoing

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

const (
	// readMessages and readBytes limit the messages that a Cache reads at once.
	readMessages = 64
	readBytes    = 256 << 10
)

// ErrFull means that a message cannot be loaded now, because too many are in use.
var ErrFull = errors.New("topic: too many messages are being delivered")

// A Cache holds the notifications that are being delivered, each once, however many readers
// wait for it. It is limited in bytes, plus one read: the least recently used messages are
// dropped first, and those in use stay. It is safe for concurrent use.
type Cache struct {
	log    pushlog.Log
	limit  int
	header func(*pushlog.Notification) http.Header

	mu     sync.Mutex
	topics map[string]*cachedTopic
	idle   list.List // of *Message, those not in use, most recently used first
	bytes  int       // of all messages
	inUse  int       // of messages in use
	wakes  uint64    // counts signs of new messages
}

type cachedTopic struct {
	messages []*Message // by number
	loading  chan struct{}

	// When wakes had the value asked, there was no message after end.
	end   int64
	asked uint64
}

// A Message is a notification in a Cache. It must not be changed.
type Message struct {
	pushlog.Notification
	Header http.Header // for deliveries

	after int64 // the log has no messages between that number and this message
	users int
	idle  *list.Element // nil while in use
}

// NewCache returns a Cache of at most limit bytes. header makes the headers of a message; if
// nil, there are none.
func NewCache(log pushlog.Log, limit int, header func(*pushlog.Notification) http.Header) *Cache {
	return &Cache{log: log, limit: limit, header: header, topics: map[string]*cachedTopic{}}
}

func (m *Message) size() int { return len(m.Body) + 512 }

// Wake records that there may be new messages.
func (s *Cache) Wake() {
	s.mu.Lock()
	s.wakes++
	s.mu.Unlock()
}

// Next returns the first message of a topic after the number taken, or nil if there is
// none. The caller must Put it back after use. If patient, Next may return ErrFull while
// there is still space for others.
func (s *Cache) Next(ctx context.Context, topic string, taken int64, patient bool) (*Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	if t == nil {
		t = &cachedTopic{asked: s.wakes - 1}
		s.topics[topic] = t
	}
	for {
		if m := t.next(taken); m != nil {
			s.use(m)
			return m, nil
		}
		switch {
		case taken >= t.end && t.asked == s.wakes:
			return nil, nil
		case t.loading != nil:
			if err := s.wait(ctx, t.loading); err != nil {
				return nil, err
			}
			continue
		case s.inUse > s.limit || patient && s.inUse > s.limit/2:
			return nil, ErrFull
		}
		if err := s.load(ctx, topic, t, taken); err != nil {
			return nil, err
		}
	}
}

// UpToDate reports whether taken is known to be the last message.
func (s *Cache) UpToDate(topic string, taken int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[topic]
	return t != nil && t.asked == s.wakes && taken >= t.end && t.next(taken) == nil
}

// Put ends a use of m.
func (s *Cache) Put(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.users--; m.users == 0 {
		s.inUse -= m.size()
		m.idle = s.idle.PushFront(m)
	}
}

func (s *Cache) use(m *Message) {
	if m.users++; m.users == 1 {
		s.inUse += m.size()
		s.idle.Remove(m.idle)
		m.idle = nil
	}
}

func (s *Cache) wait(ctx context.Context, loaded chan struct{}) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// search returns the index of the message with this number, or of the first one after it.
func (t *cachedTopic) search(number int64) (i int, found bool) {
	return slices.BinarySearchFunc(t.messages, number, func(m *Message, n int64) int { return cmp.Compare(m.Number, n) })
}

// next returns the message after taken, or nil if it is not in memory.
func (t *cachedTopic) next(taken int64) *Message {
	if i, _ := t.search(taken + 1); i < len(t.messages) && t.messages[i].after <= taken {
		return t.messages[i]
	}
	return nil
}

// load reads the messages after taken. It reads once at a time for a topic, because most
// callers need the same messages.
func (s *Cache) load(ctx context.Context, topic string, t *cachedTopic, taken int64) error {
	asked, loaded := s.wakes, make(chan struct{})
	t.loading = loaded
	s.mu.Unlock()
	read, err := s.log.Read(ctx, topic, taken, readMessages, readBytes)
	s.mu.Lock()
	t.loading = nil
	close(loaded)
	switch {
	case err != nil:
		return err
	case len(read) == 0:
		t.end, t.asked = taken, asked
		return nil
	}
	s.keep(t, taken, read)
	return nil
}

// keep makes room for the messages read, and adds those after taken that are not in memory.
func (s *Cache) keep(t *cachedTopic, taken int64, read []pushlog.Notification) {
	added := make([]*Message, len(read))
	room := s.limit
	for i, n := range read {
		added[i] = &Message{Notification: n}
		room -= added[i].size()
	}
	for s.bytes > room && s.idle.Len() > 0 {
		s.drop(s.idle.Back().Value.(*Message))
	}
	after := taken
	for _, m := range added {
		if i, found := t.search(m.Number); !found {
			if s.header != nil {
				m.Header = s.header(&m.Notification)
			}
			m.after = after
			m.idle = s.idle.PushFront(m)
			s.bytes += m.size()
			t.messages = slices.Insert(t.messages, i, m)
		}
		after = m.Number
	}
	// Numbers have gaps, and the log may have removed messages that are in memory.
	i, _ := t.search(taken + 1)
	t.messages[i].after = min(t.messages[i].after, taken)
}

// drop drops m, which is idle.
func (s *Cache) drop(m *Message) {
	s.idle.Remove(m.idle)
	s.bytes -= m.size()
	t := s.topics[m.Topic]
	i, _ := t.search(m.Number)
	t.messages = slices.Delete(t.messages, i, i+1)
}

// Links returns the value of the single Link header field of a notification or a topic
// (Change Notification 4.1). capabilityList may be empty.
func Links(topic, capabilityList string, hubs ...string) string {
	b := linkheader.AppendLink(nil, linkheader.Link{Target: topic, Rel: resourcesync.RelSelf})
	for _, hub := range hubs {
		b = linkheader.AppendLink(append(b, ", "...), linkheader.Link{Target: hub, Rel: resourcesync.RelHub})
	}
	if capabilityList != "" {
		b = linkheader.AppendLink(append(b, ", "...), linkheader.Link{Target: capabilityList, Rel: resourcesync.RelResourceSync})
	}
	return string(b)
}
